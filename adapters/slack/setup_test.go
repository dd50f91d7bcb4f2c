package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/outbox"
	"nod/internal/fakeslack"
)

// The manifest is one that Slack's published schema accepts.
func TestManifest(t *testing.T) {
	raw, err := Manifest(ManifestOptions{Name: strings.Repeat("a long name ", 20), Groups: true})
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if flat, err := Manifest(ManifestOptions{Flat: true}); err != nil || strings.Contains(string(flat), "agent_") || strings.Contains(string(flat), "assistant:") {
		t.Errorf("with dm: flat it is still an agent: %s, %v", flat, err)
	}
	if !m.Settings.Socket || !slices.Contains(m.OAuth.Scopes.Bot, "usergroups:read") || !slices.Contains(m.Settings.Events.Bot, "message.im") {
		t.Errorf("the manifest is %s", raw)
	}
	if plain := scopes(ManifestOptions{}); slices.Contains(plain, "usergroups:read") {
		t.Errorf("without groups: %v", plain)
	}
	const published = "../../../shared/contracts/slack-manifest.schema.json"
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
	opt := func(s *fakeslack.Server, app, bot string) Options {
		return Options{AppToken: app, BotToken: bot, APIURL: s.APIURL()}
	}
	const ws, forms = "workspace fake (https://fake.slack.com/), as @nod", "it takes all forms of messages"
	tests := []struct {
		name      string
		o         Options
		says, err string
	}{
		{"fine", opt(f, f.AppToken(), f.BotToken()), ws + "; all scopes are there; sockets can be opened; " + forms, ""},
		{"scopes", opt(less, less.AppToken(), less.BotToken()), ws + "; sockets can be opened; " + forms, "app_mentions:read, assistant:write"},
		{"bot token", opt(f, f.AppToken(), "xoxb-wrong"), "", "slack.bot_token"},
		{"app token", opt(f, "xapp-wrong", f.BotToken()), ws + "; all scopes are there; " + forms, "slack.app_token"},
		{"two apps", opt(other, other.AppToken(), other.BotToken()), ws + "; all scopes are there; sockets can be opened; " + forms, "of the app A0OTHER and slack.bot_token of the app A0APP"},
		{"no header", opt(mute, mute.AppToken(), mute.BotToken()), ws + "; which scopes there are was not told; sockets can be opened; " + forms, ""},
		{"older server", opt(old, old.AppToken(), old.BotToken()), ws + "; all scopes are there; sockets can be opened; which forms of messages it takes can't be asked", ""},
		{"refused form", opt(picky, picky.AppToken(), picky.BotToken()), ws + "; all scopes are there; sockets can be opened; it takes 13 forms of messages and not these, for which a plainer one follows: steps, form 1: blocks.validate: invalid_blocks", ""},
	}
	for _, tt := range tests {
		says, err := Check(t.Context(), tt.o)
		if got := strings.Join(says, "; "); got != tt.says {
			t.Errorf("%s: says %q, want %q", tt.name, got, tt.says)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}

func TestNeeds(t *testing.T) {
	for _, o := range []Options{{}, {AppToken: "a"}, {AppToken: "a", BotToken: "b"}} {
		if _, err := New(o); err == nil {
			t.Errorf("New(%+v) gives no error", o)
		}
	}
}

// Each answer of Slack's decides the fate of its call.
func TestJudge(t *testing.T) {
	const fine, limited, unknown, gone0, other, ended = "fine", "limited", "unknown", "gone", "refused", "dead"
	tests := []struct {
		name   string
		status int
		body   string
		after  string
		want   string
		wait   time.Duration
	}{
		{"fine", 200, `{"ok":true}`, "", fine, 0},
		{"429", 429, ``, "7", limited, 7 * time.Second},
		{"429 without a time", 429, ``, "", limited, api.UnsaidRetry},
		{"200", 200, `{"ok":false,"error":"ratelimited"}`, "3", limited, 3 * time.Second},
		{"200 without a time", 200, `{"ok":false,"error":"rate_limited"}`, "", limited, api.UnsaidRetry},
		{"odd time", 429, ``, "-1", limited, api.UnsaidRetry},
		{"500", 500, `<html>`, "", unknown, 0},
		{"no JSON", 200, `<html>`, "", unknown, 0},
		{"internal", 200, `{"ok":false,"error":"internal_error"}`, "", unknown, 0},
		{"the workspace moves", 200, `{"ok":false,"error":"team_added_to_org"}`, "", unknown, 0},
		{"the workspace is away while it moves", 200, `{"ok":false,"error":"org_login_required"}`, "", unknown, 0},
		{"the channel moves", 200, `{"ok":false,"error":"external_channel_migrating"}`, "", unknown, 0},
		{"gone", 200, `{"ok":false,"error":"is_archived"}`, "", gone0, 0},
		{"refused", 200, `{"ok":false,"error":"invalid_blocks"}`, "", other, 0},
		{"a new word", 200, `{"ok":false,"error":"no_such_word_yet"}`, "", other, 0},
		{"dead", 200, `{"ok":false,"error":"token_revoked"}`, "", ended, 0},
	}
	for _, tt := range tests {
		resp := &http.Response{StatusCode: tt.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tt.body))}
		if tt.after != "" {
			resp.Header.Set("Retry-After", tt.after)
		}
		err := api.Request{Method: "chat.update"}.Read(resp)
		var again *outbox.RetryAfter
		got := other
		switch {
		case err == nil:
			got = fine
		case errors.As(err, &again):
			got = limited
			if again.After != tt.wait || again.Bucket != "chat.update" {
				t.Errorf("%s: %v for %s, want %v", tt.name, again.After, again.Bucket, tt.wait)
			}
		case outbox.IsLost(err):
			got = unknown
		case api.Dead(err):
			got = ended
		case api.RefusedForm(err):
		case errors.Is(api.Gone(err), chat.ErrGone):
			got = gone0
		}
		if got != tt.want {
			t.Errorf("%s: %s (%v), want %s", tt.name, got, err, tt.want)
		}
	}
}

// The token goes to Slack alone.
func TestOurs(t *testing.T) {
	w := &api.Client{Base: "http://127.0.0.1:9/api/"}
	for address, want := range map[string]bool{
		"https://files.slack.com/x": true, "https://slack.com/x": true, "http://127.0.0.1:9/f": true, "https://files.slack-gov.com/x": true,
		"http://files.slack.com/x": false, "https://evil.com/slack.com": false, "https://notslack.com/x": false,
		"https://slack.com.evil.com/": false, "https://slack.com@evil.com/": false, "http://127.0.0.1:8/f": false, "": false, "%": false,
	} {
		if got := w.Ours(address); got != want {
			t.Errorf("ours(%q) = %v", address, got)
		}
	}
}
