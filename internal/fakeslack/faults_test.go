package fakeslack

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// Each fault decides the response of a call, and whether the call took effect.
func TestFaults(t *testing.T) {
	tests := []struct {
		name  string
		fault Fault
		want  func(error) bool
		done  bool
	}{
		{"502 before", Fault{Status: 502}, isStatus(502), false},
		{"500 after", Fault{Status: 500, After: true}, isStatus(500), true},
		{"cut before", Fault{Drop: true}, isOther, false},
		{"cut after", Fault{Drop: true, After: true}, isOther, true},
		{"no answer", Fault{Hang: true}, isTimeout, false},
		{"no answer after", Fault{Hang: true, After: true}, isTimeout, true},
		{"429", Fault{RetryAfter: 1500 * time.Millisecond}, func(err error) bool {
			var e *slack.RateLimitedError
			return errors.As(err, &e) && e.RetryAfter == 2*time.Second
		}, false},
		{"ratelimited under 200", Fault{Error: "ratelimited"}, func(err error) bool {
			return err != nil && err.Error() == "ratelimited"
		}, false},
		{"not JSON", Fault{Status: 200, Body: "<html>"}, isOther, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Start(t, Options{})
			tt.fault.Method = "chat.postMessage"
			p := s.Fail(tt.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.fault.Hang { // the client gives up once the call is known to hang
				go func() {
					_ = s.WaitFor(ctx, func(s *Server) bool { return len(s.Calls("chat.postMessage")) > 0 })
					cancel()
				}()
			}
			_, _, err := api(s).PostMessageContext(ctx, "C0GENERAL", text("hello"))
			if !tt.want(err) {
				t.Errorf("got %v", err)
			}
			calls := s.Calls("chat.postMessage")
			if len(calls) != 1 || !calls[0].Faulted || calls[0].Done != tt.done || p.Hits() != 1 {
				t.Errorf("got %+v", calls)
			}
			if got := len(s.Messages("C0GENERAL", "")) == 1; got != tt.done {
				t.Errorf("posted: %v", got)
			}
			if _, _, err := api(s).PostMessage("C0GENERAL", text("again")); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func isStatus(code int) func(error) bool {
	return func(err error) bool {
		var e slack.StatusCodeError
		return errors.As(err, &e) && e.Code == code
	}
}

func isOther(err error) bool   { return err != nil }
func isTimeout(err error) bool { return errors.Is(err, context.Canceled) }

// Skip, Times and Match choose the calls; Calm ends it all.
func TestFaultChoice(t *testing.T) {
	s := Start(t, Options{})
	s.Fail(Fault{Method: "chat.postMessage", Skip: 1, Times: 2, Error: "fatal_error"})
	s.Fail(Fault{Times: -1, Error: "internal_error", Match: func(a Args) bool { return a["text"] == "bad" }})
	say := func(what string) string {
		if _, _, err := api(s).PostMessage("C0GENERAL", text(what)); err != nil {
			return err.Error()
		}
		return ""
	}
	got := []string{say("1"), say("2"), say("3"), say("4"), say("bad"), say("bad")}
	s.Calm()
	got = append(got, say("bad"))
	want := []string{"", "fatal_error", "fatal_error", "", "internal_error", "internal_error", ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A call that is held up is done in the end, though its client has long given
// up: a post may land late.
func TestLatePost(t *testing.T) {
	s := Start(t, Options{})
	gate := make(chan struct{})
	p := s.Fail(Fault{Method: "chat.postMessage", Hold: gate})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, _, err := api(s).PostMessageContext(ctx, "C0GENERAL", text("late"))
		failed <- err
	}()
	waitFor(t, s, func(*Server) bool { return p.Hits() == 1 })
	cancel()
	if err := <-failed; err == nil {
		t.Error("the client did not give up")
	}
	if len(s.Messages("C0GENERAL", "")) != 0 {
		t.Error("posted too early")
	}
	close(gate)
	waitFor(t, s, func(s *Server) bool { return len(s.Messages("C0GENERAL", "")) == 1 })
}

func texts(heard []heard) []string {
	var out []string
	for _, h := range heard {
		out = append(out, h.Event.Text)
	}
	return out
}

// Events can come twice, out of order, late, or only at the second attempt.
func TestDisturbances(t *testing.T) {
	tests := []struct {
		name string
		d    Disturbance
		want []string
	}{
		{"twice", Disturbance{Twice: true}, []string{"1", "1", "2", "3"}},
		{"out of order", Disturbance{Behind: 2}, []string{"2", "3", "1"}},
		{"late", Disturbance{Delay: 20 * time.Millisecond}, []string{"2", "3", "1"}},
		{"second attempt", Disturbance{Lose: true}, []string{"2", "3", "1"}},
		{"second event", Disturbance{Skip: 1, Twice: true}, []string{"1", "2", "2", "3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Start(t, Options{AckTimeout: 500 * time.Millisecond})
			b := connect(t, s, 1, nil)
			p := s.Disturb(tt.d)
			for _, line := range []string{"1", "2", "3"} {
				s.Say("U0ADA", "C0GENERAL", line)
			}
			b.next("message", len(tt.want))
			if d := cmp.Diff(tt.want, texts(b.heard("message"))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if p.Hits() != 1 {
				t.Errorf("%d hits", p.Hits())
			}
			waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
		})
	}
}

// A held-back event arrives in the end, also without later events.
func TestHeldBackAlone(t *testing.T) {
	s := Start(t, Options{AckTimeout: 30 * time.Millisecond})
	b := connect(t, s, 1, nil)
	s.Disturb(Disturbance{Behind: 5})
	s.Say("U0ADA", "C0GENERAL", "alone")
	b.next("message", 1)
}

// A phantom is another event with another ts and the same client_msg_id.
func TestPhantom(t *testing.T) {
	s := Start(t, Options{})
	b := connect(t, s, 1, nil)
	s.Disturb(Disturbance{Event: "message", Phantom: true})
	s.Say("U0ADA", "C0GENERAL", "boo")
	one, two := b.next("message", 1), b.next("message", 2)
	if one.EventID == two.EventID || one.Event.TS == two.Event.TS || one.Event.ClientMsgID != two.Event.ClientMsgID {
		t.Errorf("got %+v and %+v", one, two)
	}
}

// Payloads of any sort reach the client, which makes of them what it can.
func TestRewrites(t *testing.T) {
	tests := []struct {
		name    string
		rewrite func([]byte) []byte
		want    socketmode.EventType
	}{
		{"garbled", Garbled, socketmode.EventTypeIncomingError},
		{"bad blocks", BadBlocks, socketmode.EventTypeErrorBadMessage},
		{"nil fields", NilFields(), socketmode.EventTypeEventsAPI},
		{"nil user", NilFields("user"), socketmode.EventTypeEventsAPI},
		{"huge", Huge(1 << 20), socketmode.EventTypeEventsAPI},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := Start(t, Options{AckTimeout: 10 * time.Second})
			b := connect(t, s, 1, nil)
			s.Disturb(Disturbance{Rewrite: tt.rewrite})
			s.Say("U0ADA", "C0GENERAL", "hello")
			b.saw(tt.want, 1)
			s.Say("U0ADA", "C0GENERAL", "still there?")
			b.await(func() bool {
				for _, line := range texts(b.heard("message")) {
					if line == "still there?" {
						return true
					}
				}
				return false
			})
		})
	}
}

// Under random faults nothing that people did is lost for a client that
// acknowledges, and calls fail in all the ways there are.
func TestChaos(t *testing.T) {
	s := Start(t, Options{Seed: 7, AckTimeout: time.Second, NoLimits: true})
	b := connect(t, s, 2, nil)
	s.SetChaos(Chaos{Twice: 0.2, Lose: 0.2, Late: 0.2, Reorder: 0.2, Before: 0.2, After: 0.1, Drop: 0.1, RateLimit: 0.1})
	const n = 40
	for range n {
		s.Say("U0ADA", "C0GENERAL", "hello")
	}
	waitFor(t, s, func(s *Server) bool { return s.Unacked() == 0 })
	ids := map[string]bool{}
	for _, h := range b.heard("message") {
		ids[h.EventID] = true
	}
	if len(ids) != n || s.Lost() != 0 || len(b.heard("message")) == n {
		t.Errorf("%d events in %d frames, %d lost", len(ids), len(b.heard("message")), s.Lost())
	}
	type fate struct {
		Status int
		Done   bool
	}
	fates := map[fate]bool{}
	want := map[fate]bool{{200, true}: true, {502, false}: true, {500, true}: true, {0, true}: true, {429, false}: true}
	for range 100 * n { // each fate comes with a tenth of the calls, in no certain order
		_, _, _ = b.PostMessage("C0SECRET", text("x")) // the calls tell how it went
		calls := s.Calls("chat.postMessage")
		last := calls[len(calls)-1]
		if fates[fate{last.Status, last.Done}] = true; len(fates) == len(want) {
			break
		}
	}
	if d := cmp.Diff(want, fates); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
