package setup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

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

// manifest is what nod sets (https://docs.slack.dev/reference/app-manifest). The prompts are
// what one can ask the bot first.
var manifest = template.Must(template.New("").Funcs(template.FuncMap{"json": written, "short": layout.Shorten}).Parse(`{
	"_metadata": {"major_version": 2, "minor_version": 1},
	"display_information": {"name": {{short .Name 35 | json}}, "description": {{short .Description 140 | json}}},
	"features": {
		"app_home": {"home_tab_enabled": true, "messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
		"bot_user": {"display_name": {{short .Name 80 | json}}, "always_online": true},
		"shortcuts": [{"name": "Ask nod about this", "type": "message", "callback_id": "` + slack.AskAbout + `", "description": "Ask about this message"}]
		{{- if not .Flat}},
		"agent_view": {"agent_description": {{short .Description 300 | json}}, "suggested_prompts": [
			{"message": "help", "title": "What can you do?"}, {"message": "memory", "title": "What do you remember?"}
		]}{{end}}
	},
	"oauth_config": {"scopes": {"bot": {{.Scopes | json}}}},
	"settings": {
		"event_subscriptions": {"bot_events": {{.Events | json}}},
		"interactivity": {"is_enabled": true},
		"org_deploy_enabled": false, "socket_mode_enabled": true, "token_rotation_enabled": false
	}
}`))

func written(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.String(), err
}

// Manifest writes the manifest of the Slack app that a configuration needs, to
// be pasted where Slack asks for one. The app-level token, which needs the
// scope connections:write, is made by hand after that.
func Manifest(o ManifestOptions) ([]byte, error) {
	o.Name = chat.FirstOf(o.Name, "nod")
	o.Description = chat.FirstOf(o.Description, "An agent that thinks in the open and asks before it acts.")
	var text, out bytes.Buffer
	err := manifest.Execute(&text, struct {
		ManifestOptions
		Scopes, Events []string
	}{o, scopes(o), events(o.Flat)})
	if err == nil {
		err = json.Indent(&out, text.Bytes(), "", "  ")
	}
	if err != nil {
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	return append(out.Bytes(), '\n'), nil
}
