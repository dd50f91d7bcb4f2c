package api

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"nod/chat/outbox"
)

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
