package api

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"nod/chat/outbox"
)

// Before Discord stops to listen, the bot stops to ask.
func TestInvalidCalls(t *testing.T) {
	var i invalid
	now := time.Now()
	shared := http.Header{"X-Ratelimit-Scope": {"shared"}}
	for range mostInvalid - 1 {
		if i.add(403, nil, now) || i.add(429, shared, now) || i.add(404, nil, now) {
			t.Fatal("too early")
		}
	}
	if !i.add(429, http.Header{}, now) {
		t.Error("it goes on")
	}
	if i.add(401, nil, now.Add(time.Hour)) {
		t.Error("it counts for ever")
	}
}

// The program names itself in the form that Discord documents, by its bot's own
// profile.
func TestUserAgent(t *testing.T) {
	for token, want := range map[string]string{
		"MTIzNDU2Nzg5MDEyMzQ1Njc4.x.y": "DiscordBot (https://discord.com/users/123456789012345678, 1.2-rc)", "odd": "DiscordBot (https://discord.com, 1.2-rc)",
	} {
		if got := userAgent(token, "1.2 rc"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An answer with status 429 closes its bucket, or all buckets.
func TestLimited(t *testing.T) {
	r := Request{Method: "GET", Path: "/users/@me"}
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	tests := []struct {
		header http.Header
		body   string
		bucket string
		after  time.Duration
	}{
		{header(), `{"retry_after":1.5,"global":false}`, "", 1500 * time.Millisecond},
		{header(), `{"retry_after":1.5,"global":true}`, outbox.Everything, 1500 * time.Millisecond},
		{header("X-RateLimit-Scope", "global"), `{"retry_after":0.25}`, outbox.Everything, 250 * time.Millisecond},
		{header("X-RateLimit-Scope", "shared"), `{"retry_after":0.25}`, "", 250 * time.Millisecond},
		{header("Retry-After", "7"), `<html>banned</html>`, outbox.Everything, 7 * time.Second},
		{header(), ``, outbox.Everything, unsaidRetry},
		{header(), `{"retry_after":1e300}`, "", longestRetry},
		{header(), `{"retry_after":-4}`, "", 0},
	}
	for _, tt := range tests {
		var got *outbox.RetryAfter
		if !errors.As(r.limited(tt.header, []byte(tt.body)), &got) || got.Bucket != tt.bucket || got.After != tt.after {
			t.Errorf("%s: %+v", tt.body, got)
		}
	}
}

// A proxy before Discord may refuse for an hour. The bot asks nothing for so long: each try
// more would count against the bot's address.
func TestLongBan(t *testing.T) {
	for after, want := range map[string]time.Duration{"3600": time.Hour, "100000": longestBan} {
		var got *outbox.RetryAfter
		err := Request{Method: "GET", Path: "/users/@me"}.limited(http.Header{"Retry-After": {after}}, []byte("<html>error 1015</html>"))
		if !errors.As(err, &got) || got.Bucket != outbox.Everything || got.After != want {
			t.Errorf("banned for %s s: %+v", after, got)
		}
	}
}

// Before Discord bans the bot, the client stops calling it.
func TestRefusalsPauseTheClient(t *testing.T) {
	paused := make(chan string, 9)
	w := New(Options{
		Address: "https://discord.example", Token: "x", Global: Global, Pace: 1, HTTP: &http.Client{Transport: refusing{}},
		Outbox: func(budget func(string) outbox.Budget) *outbox.Outbox {
			return outbox.New(outbox.Options{Budget: budget, Hooks: outbox.Hooks{Paused: func(b string, _ time.Duration) { paused <- b }}})
		},
	})
	for n := range mostInvalid {
		if len(paused) > 0 {
			t.Fatalf("after %d refusals it pauses %q", n, <-paused)
		}
		if err := w.Once(t.Context(), Request{Method: "GET", Path: "/users/@me"}); err == nil {
			t.Fatal("no refusal")
		}
	}
	if len(paused) != 1 || <-paused != outbox.Everything {
		t.Error("it goes on")
	}
}

// refusing is a Discord that refuses every call.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}
