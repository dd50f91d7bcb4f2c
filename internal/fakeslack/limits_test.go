package fakeslack

import (
	"errors"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

// A tier takes its number of calls in any minute; then Retry-After says when
// the oldest falls out.
func TestTier(t *testing.T) {
	now := time.Now()
	for _, scale := range []float64{1, 10} {
		s := Start(t, Options{Now: func() time.Time { return now }, LimitScale: scale})
		c := api(s)
		for i := range 20 {
			if _, err := c.GetUserGroups(); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			s.Advance(100 * time.Millisecond)
		}
		var limited *slack.RateLimitedError
		_, err := c.GetUserGroups()
		want := 58 * time.Second
		if scale == 10 {
			want = 4 * time.Second
		}
		if !errors.As(err, &limited) || limited.RetryAfter != want {
			t.Fatalf("scale %v: got %v, want to wait %v", scale, err, want)
		}
		s.Advance(limited.RetryAfter)
		if _, err := c.GetUserGroups(); err != nil {
			t.Errorf("after waiting: %v", err)
		}
		if s.RateLimited() != 1 {
			t.Errorf("counted %d", s.RateLimited())
		}
	}
}

// Posts are limited per channel: a short burst, then one a second.
func TestPostLimit(t *testing.T) {
	now := time.Now()
	s := Start(t, Options{Now: func() time.Time { return now }})
	c := api(s)
	say := func(channel string) error {
		_, _, err := c.PostMessage(channel, text("x"))
		return err
	}
	for range posts.burst {
		if err := say("C0GENERAL"); err != nil {
			t.Fatal(err)
		}
	}
	var limited *slack.RateLimitedError
	if err := say("C0GENERAL"); !errors.As(err, &limited) || limited.RetryAfter != time.Second {
		t.Errorf("got %v", err)
	}
	if err := say("C0SECRET"); err != nil {
		t.Errorf("another channel: %v", err)
	}
	s.Advance(time.Second)
	if err := say("C0GENERAL"); err != nil {
		t.Errorf("a second later: %v", err)
	}
	if got := s.Calls("chat.postMessage"); got[posts.burst].Status != 429 || got[posts.burst].Done {
		t.Errorf("got %+v", got[posts.burst])
	}
}

func TestNoLimits(t *testing.T) {
	s := Start(t, Options{NoLimits: true})
	c := api(s)
	for range 30 {
		if _, _, err := c.PostMessage("C0GENERAL", text("x")); err != nil {
			t.Fatal(err)
		}
	}
}
