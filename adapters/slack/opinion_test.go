package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/internal/fakeslack"
)

// thinking gives an office whose answers have all buttons.
func thinking(t *testing.T) (*office, chat.ThreadID, chat.MessageRef) {
	return called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace, o.Retries = 1000, true })
}

// Opinions by button are put for the answer's first message, however many it has. A
// critic is asked once for the reason.
func TestOpinions(t *testing.T) {
	o, th, ref := thinking(t)
	for n, text := range []string{"hello", strings.Repeat("word ", 3000)} {
		before := len(o.own(th))
		at, err := o.a.Post(t.Context(), th, chat.Post{Key: fmt.Sprint("answer/", n), ReplyTo: ref, Text: &chat.Text{Markdown: text}}, false)
		if err != nil {
			t.Fatal(err)
		}
		own := o.own(th)[before:]
		last := own[len(own)-1].TS
		for i, m := range own {
			if has := strings.Contains(string(m.Blocks), layout.OpinionID); has != (i == len(own)-1) {
				t.Errorf("message %d of %d has buttons: %v", i+1, len(own), has)
			}
		}
		click := func(user, which string) {
			had := len(o.said())
			o.fake.Click(user, fakeslack.Action{Channel: general, TS: last, ActionID: layout.OpinionID, Value: which})
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 && len(o.said()) == had+1 })
		}
		click("U0ADA", "positive")
		click("U0BOB", "negative")
		o.wait(func(s *fakeslack.Server) bool { return len(s.Views("U0BOB")) == n+1 })
		click("U0BOB", "negative")
		for _, v := range o.fake.Views("U0BOB") {
			if !v.Closed {
				o.fake.Submit("U0BOB", v.ID, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": "it is *old*"}}})
				o.fake.CloseView("U0BOB", v.ID)
			}
		}
		o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 && len(o.said()) == 4*(n+1) })
		want := fmt.Sprintf("%[1]s ada true; %[1]s bob false; %[1]s bob false; %[1]s bob false it is *old*", at.ID)
		if got := strings.Join(o.said()[4*n:], "; "); got != want {
			t.Errorf("%d messages: put %q, want %q", len(own), got, want)
		}
		if views := len(o.fake.Views("U0BOB")); views != n+1 {
			t.Errorf("bob was asked %d times for %d answers", views, n+1)
		}
		o.fake.React("U0ADA", general, last, "-1")
		o.in.Await(t, func() bool { return len(o.in.Reactions) > 0 && o.in.Reactions[len(o.in.Reactions)-1].Emoji == "👎" })
		had := 0
		o.in.Do(func() {
			had = len(o.in.Reactions)
			if r := o.in.Reactions[had-1]; r.On != at {
				t.Errorf("a reaction to the last message is one to %v, want %v", r.On, at)
			}
		})
		o.fake.Click("U0ADA", fakeslack.Action{Channel: general, TS: last, ActionID: layout.RetryID})
		o.in.Await(t, func() bool { return len(o.in.Reactions) == had+1 })
		var got chat.Reaction
		o.in.Do(func() { got = o.in.Reactions[had] })
		if got.On != at || got.Emoji != chat.EmojiRetry {
			t.Errorf("another try of %v: %+v", at, got)
		}
	}
}

// A workspace that does not know the buttons gets the answer without them, and is
// not asked again once it has refused several.
func TestWithoutOpinions(t *testing.T) {
	o, th, ref := thinking(t)
	fault := o.fake.Fail(fakeslack.Fault{Method: "chat.postMessage", Error: "invalid_blocks", Times: -1, Match: func(a fakeslack.Args) bool {
		return strings.Contains(a["blocks"], "context_actions")
	}})
	for n := range 4 {
		p := chat.Post{Key: fmt.Sprint("answer/", n), ReplyTo: ref, Text: &chat.Text{Markdown: "hello"}}
		if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
			t.Fatal(err)
		}
	}
	own := o.own(th)
	for _, m := range own {
		if !strings.Contains(string(m.Blocks), layout.RetryID) || !strings.Contains(string(m.Blocks), "markdown") {
			t.Errorf("it reads %s", m.Blocks)
		}
	}
	if len(own) != 4 || fault.Hits() != 3 {
		t.Errorf("%d messages; it was refused %d times", len(own), fault.Hits())
	}
}

// A denial by click does not wait for a reason if no form opens.
func TestNoFormNoReason(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	p := chat.Post{Key: "ask/1", ReplyTo: ref, Approval: approval()}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	o.fake.Fail(fakeslack.Fault{Method: "views.open", Error: "expired_trigger_id"})
	for n, user := range []string{"U0BOB", "U0CLEO"} { // the last click is not the one that denied
		o.fake.Click(user, fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.DenyID})
		o.in.Await(t, func() bool { return len(o.in.Reactions) == n+1 })
	}
	p.Approval.Outcome, p.Approval.By = chat.Denied, []chat.User{{ID: "U0BOB", Name: "bob"}}
	if err := o.a.Edit(t.Context(), th, at, p); err != nil {
		t.Fatal(err)
	}
	o.a.Wait()
	if got := o.said(); !slices.Equal(got, []string{th.Root + " c1 bob: "}) {
		t.Errorf("put %q", got)
	}
}

// A 👎 reaction opens no form, and a form may fail to open. Then its author is asked
// once in a message to them alone, whose button opens the form.
func TestAskedInAMessage(t *testing.T) {
	o, th, ref := thinking(t)
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := o.a.AskWhy(t.Context(), th, chat.User{ID: "U0CLEO", Name: "cleo"}, at); err != nil {
			t.Fatal(err)
		}
	}
	o.fake.Fail(fakeslack.Fault{Method: "views.open", Error: "expired_trigger_id"})
	o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.OpinionID, Value: "negative"})
	o.wait(func(s *fakeslack.Server) bool { return len(s.Ephemerals("U0BOB")) == 1 })
	for i, user := range []string{"U0CLEO", "U0BOB"} {
		asked := o.fake.Ephemerals(user)
		if len(asked) != 1 || asked[0].Thread != th.Root {
			t.Fatalf("%s was asked %+v", user, asked)
		}
		o.fake.Click(user, fakeslack.Action{Channel: general, TS: asked[0].TS, ActionID: layout.TellID})
		o.wait(func(s *fakeslack.Server) bool { return len(s.Views(user)) == 1 })
		o.fake.Submit(user, o.fake.Views(user)[0].ID, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": "too old"}}})
		o.wait(func(*fakeslack.Server) bool { return len(o.said()) == i+2 }) // the click on 👎 is one
	}
	want := fmt.Sprintf("%[1]s bob false; %[1]s cleo false too old; %[1]s bob false too old", at.ID)
	if got := strings.Join(o.said(), "; "); got != want {
		t.Errorf("put %q, want %q", got, want)
	}
	if err := o.a.AskWhy(t.Context(), th, chat.User{ID: "U0ADA", Barred: "guests may not decide here"}, at); err != nil || len(o.fake.Ephemerals("U0ADA")) > 0 {
		t.Errorf("somebody who is not heard is asked: %v", err)
	}
}
