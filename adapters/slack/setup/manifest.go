package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"nod/adapters/slack"
	"nod/adapters/slack/layout"
	"nod/chat"
)

// ManifestOptions say what the app has to be able to do.
type ManifestOptions struct {
	Name        string // of the app and of its bot; default nod
	Description string
	Groups      bool // a rule names a user group
	Flat        bool // a direct conversation is one, without threads
	Search      bool // messages are searched with the eyes of who asks
	Direct      bool // people are written to directly, who did not write to the bot
}

// scopes lists the scopes of the bot token, each with what needs it.
func scopes(o ManifestOptions) []string {
	out := []string{
		"app_mentions:read",                                                // being called
		"channels:history", "groups:history", "im:history", "mpim:history", // messages, also missed ones
		"channels:read", "groups:read", "im:read", "mpim:read", // names of channels; which direct conversations there are
		"chat:write",                // posts, edits, the sign of work
		"commands",                  // the shortcut on a message
		"files:read", "files:write", // attachments; arguments too long for a message
		"reactions:read", "reactions:write", // approvals
		"users:read", // names; which accounts are bots, guests, or of others
	}
	if !o.Flat {
		out = append(out, "assistant:write") // the agent's view of a direct conversation
	}
	if o.Groups {
		out = append(out, "usergroups:read") // who is in a group that is heard, or approves
	}
	if o.Search {
		out = append(out, "search:read.im", "search:read.mpim", "search:read.private", "search:read.public") // the tool team_search
	}
	if o.Direct {
		out = append(out, "im:write") // a direct conversation with whoever may decide
	}
	slices.Sort(out)
	return out
}

// events lists what the app subscribes to. Messages of channels are needed
// whatever is followed: the word to stop works without a mention, and a message
// that was edited or deleted before it was read counts as it is now.
func events(flat bool) []string {
	out := []string{
		"app_home_opened", "app_mention",
		"message.channels", "message.groups", "message.im", "message.mpim",
		"reaction_added", "reaction_removed",
	}
	if !flat {
		out = append([]string{"agent_session_stopped"}, out...)
	}
	return out
}

// The parts of a manifest that nod sets
// (https://docs.slack.dev/reference/app-manifest).
type (
	manifest struct {
		Metadata struct {
			Major int `json:"major_version"`
			Minor int `json:"minor_version"`
		} `json:"_metadata"`
		Display struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"display_information"`
		Features features `json:"features"`
		OAuth    struct {
			Scopes struct {
				Bot []string `json:"bot"`
			} `json:"scopes"`
		} `json:"oauth_config"`
		Settings settings `json:"settings"`
	}
	features struct {
		Home struct {
			Home     bool `json:"home_tab_enabled"`
			Messages bool `json:"messages_tab_enabled"`
			ReadOnly bool `json:"messages_tab_read_only_enabled"`
		} `json:"app_home"`
		Bot struct {
			Name   string `json:"display_name"`
			Online bool   `json:"always_online"`
		} `json:"bot_user"`
		Shortcuts []shortcut `json:"shortcuts"`
		Agent     *agentView `json:"agent_view,omitempty"`
	}
	agentView struct {
		Description string              `json:"agent_description"`
		Prompts     []map[string]string `json:"suggested_prompts"`
	}
	shortcut struct {
		Name        string `json:"name"`
		Type        string `json:"type"`
		Callback    string `json:"callback_id"`
		Description string `json:"description"`
	}
	settings struct {
		Events struct {
			Bot []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool `json:"is_enabled"`
		} `json:"interactivity"`
		Org    bool `json:"org_deploy_enabled"`
		Socket bool `json:"socket_mode_enabled"`
		Rotate bool `json:"token_rotation_enabled"`
	}
)

// suggestions are what one can ask the bot first.
var suggestions = []map[string]string{
	{"title": "What can you do?", "message": "help"},
	{"title": "What do you remember?", "message": "memory"},
}

// Manifest writes the manifest of the Slack app that a configuration needs, to
// be pasted where Slack asks for one. The app-level token, which needs the
// scope connections:write, is made by hand after that.
func Manifest(o ManifestOptions) ([]byte, error) {
	var m manifest
	name := chat.FirstOf(o.Name, "nod")
	about := chat.FirstOf(o.Description, "An agent that thinks in the open and asks before it acts.")
	m.Metadata.Major, m.Metadata.Minor = 2, 1
	m.Display.Name, m.Display.Description = layout.Shorten(name, 35), layout.Shorten(about, 140)
	m.Features.Home.Home, m.Features.Home.Messages = true, true
	m.Features.Bot.Name, m.Features.Bot.Online = layout.Shorten(name, 80), true
	m.Features.Shortcuts = []shortcut{{"Ask nod about this", "message", slack.AskAbout, "Ask about this message"}}
	if !o.Flat {
		m.Features.Agent = &agentView{layout.Shorten(about, 300), suggestions}
	}
	m.OAuth.Scopes.Bot = scopes(o)
	m.Settings.Events.Bot = events(o.Flat)
	m.Settings.Interactivity.Enabled = true
	m.Settings.Socket = true
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return b.Bytes(), nil
}
