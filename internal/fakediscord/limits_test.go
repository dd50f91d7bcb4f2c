package fakediscord_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"

	"nod/internal/fakediscord"
)

func TestMessageBucket(t *testing.T) {
	now := newClock()
	s := start(t, fakediscord.Options{Now: now.Now})
	other := s.AddChannel(s.guild, "other")
	path := "/channels/" + s.channel + "/messages"
	send := func() (int, map[string]any, map[string]string) {
		status, body, h := callRaw(t, s.Server, "POST", path, fields{"content": "x"})
		var e map[string]any
		if err := json.Unmarshal(body, &e); err != nil {
			t.Fatal(err)
		}
		headers := map[string]string{}
		for _, k := range []string{"Limit", "Remaining", "Reset-After", "Bucket", "Scope"} {
			headers[k] = h.Get("X-RateLimit-" + k)
		}
		headers["Retry-After"] = h.Get("Retry-After")
		return status, e, headers
	}
	for i := range 5 {
		status, _, h := send()
		if status != 200 || h["Limit"] != "5" || h["Remaining"] != strconv.Itoa(4-i) || h["Bucket"] == "" {
			t.Fatalf("post %d: %d %v", i, status, h)
		}
		now.advance(500 * time.Millisecond)
	}
	status, e, h := send()
	if status != 429 || e["retry_after"] != 2.5 || e["global"] != false || h["Retry-After"] != "3" || h["Scope"] != "user" || h["Reset-After"] != "2.500" {
		t.Errorf("the sixth post: %d %v %v", status, e, h)
	}
	post(t, s.Server, other, fields{"content": "x"})
	now.advance(2500 * time.Millisecond)
	if status, _, _ := send(); status != 200 {
		t.Errorf("after the wait: %d", status)
	}
	if got := s.RateLimited(); got != 1 {
		t.Errorf("%d requests over a limit, want 1", got)
	}
}

func TestBuckets(t *testing.T) {
	for name, c := range map[string]struct {
		options fakediscord.Options
		method  string
		path    func(s usual, m string, n int) string
		passes  int
	}{
		"reactions share one": {fakediscord.Options{}, "PUT", func(s usual, m string, n int) string {
			return "/channels/" + s.channel + "/messages/" + m + "/reactions/" + url.PathEscape([]string{"✅", "❌"}[n%2]) + "/@me"
		}, 1},
		"global": {fakediscord.Options{}, "GET", func(s usual, _ string, n int) string {
			return []string{"/users/@me", "/channels/" + s.channel, "/gateway/bot"}[n%3]
		}, 50},
		"scaled": {fakediscord.Options{LimitScale: 10}, "POST", func(s usual, _ string, _ int) string {
			return "/channels/" + s.channel + "/typing"
		}, 5},
		"off": {fakediscord.Options{NoLimits: true}, "POST", func(s usual, _ string, _ int) string {
			return "/channels/" + s.channel + "/typing"
		}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			now := newClock()
			c.options.Now = now.Now
			s := start(t, c.options)
			m := s.Say(s.ada, s.channel, "x")
			passed, after := 0, 0.0
			for n := range 60 {
				status, e := call(t, s.Server, c.method, c.path(s, m, n), nil)
				if status == 429 {
					after, _ = e["retry_after"].(float64)
					break
				}
				passed++
			}
			if passed != c.passes {
				t.Errorf("%d requests passed, want %d", passed, c.passes)
			}
			want := map[string]float64{"reactions share one": 0.25, "global": 1, "scaled": 0.5}[name]
			if fmt.Sprint(after) != fmt.Sprint(want) {
				t.Errorf("retry after %v, want %v", after, want)
			}
		})
	}
}
