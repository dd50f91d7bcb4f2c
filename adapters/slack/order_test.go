package slack

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/internal/fakeslack"
)

// single has one socket, on which the order of events is that of the fake.
func single(o *Options) { o.Sockets = 1 }

// A vote that was taken back does not come back: neither where the sockets change the
// order of the two events, nor where the vote could not be put at once, since Slack did
// not say who it is of, and is delivered again afterwards.
func TestTakenBackStaysSo(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*fakeslack.Server){
		"lost":     func(s *fakeslack.Server) { s.Disturb(fakeslack.Disturbance{Event: "reaction_added", Lose: true}) },
		"overtook": func(s *fakeslack.Server) { s.Disturb(fakeslack.Disturbance{Event: "reaction_added", Behind: 1}) },
		"unknown": func(s *fakeslack.Server) {
			s.Fail(fakeslack.Fault{Method: "users.info", Match: func(a fakeslack.Args) bool { return a["user"] == "U0BOB" }, Error: "internal_error"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, th, ref := called(t, fakeslack.Options{AckTimeout: 3 * time.Second}, single) // as Slack: after some it gives up
			at, err := o.a.Post(t.Context(), th, chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: approval()}, false)
			if err != nil {
				t.Fatal(err)
			}
			spoil(o.fake)
			o.fake.React("U0BOB", general, at.ID, "white_check_mark")
			o.fake.Unreact("U0BOB", general, at.ID, "white_check_mark")
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			var all []chat.Reaction
			o.in.Do(func() { all = slices.Clone(o.in.Reactions) })
			if len(all) == 0 || !all[len(all)-1].Removed {
				t.Errorf("what holds in the end of %+v is a vote that was taken back", all)
			}
			o.fake.React("U0BOB", general, at.ID, "white_check_mark") // it can be given again
			o.in.Await(t, func() bool { return len(o.in.Reactions) == len(all)+1 && !o.in.Reactions[len(all)].Removed })
		})
	}
}

// A vote that is delivered again counts while it stands. Where it was taken back another
// process may have heard of that, so that it does not count here either.
func TestDeliveredAgain(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	for n, stands := range []bool{false, true} {
		at, err := o.a.Post(t.Context(), th, chat.Post{Key: fmt.Sprint("ask/c", n), ReplyTo: ref, Approval: approval()}, false)
		if err != nil {
			t.Fatal(err)
		}
		if stands {
			o.fake.Disturb(fakeslack.Disturbance{Event: "reaction_added", Lose: true})
			o.fake.React("U0BOB", general, at.ID, "white_check_mark")
		}
		payload := fmt.Sprintf(`{"event_id":"Ev0AGAIN%[2]s","event":{"type":"reaction_added","user":"U0BOB","reaction":"white_check_mark","event_ts":%[2]q,`+
			`"item":{"type":"message","channel":%[1]q,"ts":%[2]q}}}`, general, at.ID)
		acked := make(chan struct{})
		o.a.receive(t.Context(), api.Envelope{Type: "events_api", EnvelopeID: "e", RetryAttempt: 1, Payload: []byte(payload)}, func(any) { close(acked) })
		<-acked
		var put bool
		o.in.Do(func() { put = slices.ContainsFunc(o.in.Reactions, func(r chat.Reaction) bool { return r.On == at }) })
		if put != stands {
			t.Errorf("put: %v, want %v", put, stands)
		}
	}
}

// The later of two edits holds, in any order of arrival.
func TestLaterEditHolds(t *testing.T) {
	t.Parallel()
	o, _, ref := called(t, fakeslack.Options{AckTimeout: 3 * time.Second}, single)
	o.fake.Disturb(fakeslack.Disturbance{Event: "message", Behind: 2}) // the mention in the first, and the second
	o.fake.Edit("U0ADA", general, ref.ID, "<@U0BOT> deploy prod")
	o.fake.Edit("U0ADA", general, ref.ID, "<@U0BOT> deploy staging")
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	got := ""
	if o.in.Do(func() { got = o.in.Edits[ref] }); got != "deploy staging" {
		t.Errorf("the message says %q", got)
	}
}
