package slack

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/outbox"
)

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
	w := &api.Client{Options: api.Options{Address: "http://127.0.0.1:9/api/"}}
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
