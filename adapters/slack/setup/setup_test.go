package setup

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nod/adapters/slack"
	"nod/internal/fakeslack"
)

// The manifest is one that Slack's published schema accepts.
func TestManifest(t *testing.T) {
	raw, err := Manifest(ManifestOptions{Name: strings.Repeat("a long name ", 20), Groups: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"socket_mode_enabled": true`, `"usergroups:read"`, `"message.im"`} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("%s is not in the manifest %s", part, raw)
		}
	}
	if flat, err := Manifest(ManifestOptions{Flat: true}); err != nil || strings.Contains(string(flat), "agent_") || strings.Contains(string(flat), "assistant:") {
		t.Errorf("with dm: flat it is still an agent: %s, %v", flat, err)
	}
	if plain := scopes(ManifestOptions{}); slices.Contains(plain, "usergroups:read") || slices.Contains(plain, "search:read.public") {
		t.Errorf("without groups and search: %v", plain)
	}
	if searching := scopes(ManifestOptions{Search: true}); !slices.Contains(searching, "search:read.public") || !slices.Contains(searching, "search:read.im") {
		t.Errorf("with search: %v", searching)
	}
	const published = "../../../../shared/contracts/slack-manifest.schema.json"
	schema, err := os.ReadFile(published)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the published schema is not beside the checkout")
	}
	if err != nil {
		t.Fatal(err)
	}
	schema = bytes.ReplaceAll(schema, []byte(`(?![\\.\\-])`), nil) // which Go's regular expressions don't have
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("manifest.json", doc); err != nil {
		t.Fatal(err)
	}
	sch, err := c.Compile("manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if err := sch.Validate(v); err != nil {
		t.Errorf("manifest: %v", err)
	}
}

func TestCheck(t *testing.T) {
	f := fakeslack.Start(t, fakeslack.Options{})
	mute := fakeslack.Start(t, fakeslack.Options{NoScopes: true})
	old := fakeslack.Start(t, fakeslack.Options{Lenient: true})
	old.Fail(fakeslack.Fault{Method: "blocks.validate", Error: "unknown_method", Times: -1})
	picky := fakeslack.Start(t, fakeslack.Options{})
	picky.Fail(fakeslack.Fault{Method: "blocks.validate", Error: "invalid_blocks", Match: func(a fakeslack.Args) bool { return strings.Contains(a["blocks"], "container") }})
	other := fakeslack.Start(t, fakeslack.Options{AppToken: "xapp-1-A0OTHER-1-x"})
	less := fakeslack.Start(t, fakeslack.Options{Scopes: []string{"chat:write", "users:read"}})
	opt := func(s *fakeslack.Server, app, bot string) slack.Options {
		return slack.Options{AppToken: app, BotToken: bot, APIURL: s.APIURL()}
	}
	rules := map[string][]string{
		"ids":    {"requester", "user:U0ADA", "user:U0ADA", "user:U0GONE", "user:123", "bot:B0BOT", "bot:B0OFF", "bot:U0ADA", "group:S0OPS", "group:S0EMPTY", "channel:C0GENERAL", "channel:C0AWAY"},
		"no ids": {"user:U0NOPE", "bot:B0NOPE", "bot:U0NONE", "group:S0OFF", "group:S0NOPE", "channel:C0NOPE"},
	}
	f.AddChannel(fakeslack.Channel{ID: "C0AWAY", Name: "away", Members: []string{"U0ADA"}})
	f.AddUser(fakeslack.User{ID: "U0GONE", Name: "gone", Deleted: true})
	f.AddUser(fakeslack.User{ID: "U0OFF", Name: "off", BotID: "B0OFF", Deleted: true})
	f.SetGroup(fakeslack.Group{ID: "S0OFF", Handle: "off", Users: []string{"U0BOB"}, Disabled: true})
	f.SetGroup(fakeslack.Group{ID: "S0EMPTY", Handle: "empty"})
	const ws, forms = "workspace fake (https://fake.slack.com/), as @nod", "it takes all forms of messages"
	tests := []struct {
		name      string
		o         slack.Options
		says, err string
	}{
		{"fine", opt(f, f.AppToken(), f.BotToken()), ws + "; all scopes are there; sockets can be opened; " + forms, ""},
		{"ids", opt(f, f.AppToken(), f.BotToken()), ws + "; all scopes are there; sockets can be opened; " + forms + "; bot:B0OFF is a deactivated account; the bot is not in #away (C0AWAY): invite it there; the user group S0EMPTY has no members: nobody in it can approve; user:U0GONE is a deactivated account", ""},
		{
			"no ids", opt(f, f.AppToken(), f.BotToken()), ws + "; all scopes are there; sockets can be opened; " + forms,
			"bot:B0NOPE: the bot sees none with this id: correct it, or invite the bot there\n" +
				"bot:U0NONE: the bot sees none with this id: correct it, or invite the bot there\n" +
				"channel:C0NOPE: the bot sees none with this id: correct it, or invite the bot there\n" +
				"group:S0NOPE: the user group is disabled, or there is none: nobody in it can approve\n" +
				"group:S0OFF: the user group is disabled, or there is none: nobody in it can approve\n" +
				"user:U0NOPE: the bot sees none with this id: correct it, or invite the bot there",
		},
		{"scopes", opt(less, less.AppToken(), less.BotToken()), ws + "; sockets can be opened; " + forms, "app_mentions:read, assistant:write"},
		{"bot token", opt(f, f.AppToken(), "xoxb-wrong"), "", "slack.bot_token"},
		{"app token", opt(f, "xapp-wrong", f.BotToken()), ws + "; all scopes are there; " + forms, "slack.app_token"},
		{"two apps", opt(other, other.AppToken(), other.BotToken()), ws + "; all scopes are there; sockets can be opened; " + forms, "of the app A0OTHER and slack.bot_token of the app A0APP"},
		{"no header", opt(mute, mute.AppToken(), mute.BotToken()), ws + "; which scopes there are was not told; sockets can be opened; " + forms, ""},
		{"older server", opt(old, old.AppToken(), old.BotToken()), ws + "; all scopes are there; sockets can be opened; which forms of messages it takes can't be asked", ""},
		{"refused form", opt(picky, picky.AppToken(), picky.BotToken()), ws + "; all scopes are there; sockets can be opened; it takes 13 forms of messages and not these, for which a plainer one follows: steps, form 1: blocks.validate: invalid_blocks", ""},
	}
	for _, tt := range tests {
		says, err := Check(t.Context(), tt.o, rules[tt.name])
		if got := strings.Join(says, "; "); got != tt.says {
			t.Errorf("%s: says %q, want %q", tt.name, got, tt.says)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}
