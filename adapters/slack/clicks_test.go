package slack

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/front"
	"nod/internal/fakeslack"
)

// A click on Approve or Deny is the emoji that it stands for, and is acknowledged
// once it is put.
func TestVoteButtons(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: approval()}, false)
	if err != nil {
		t.Fatal(err)
	}
	click := func(user, button string) fakeslack.Delivery {
		t.Helper()
		o.fake.Click(user, fakeslack.Action{Channel: general, TS: at.ID, ActionID: button})
		d := o.fake.Deliveries()
		return d[len(d)-1]
	}
	click("U0BOB", layout.ApproveID)
	click("U0CLEO", layout.DenyID)
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 })
	for i, want := range []chat.Reaction{
		{On: at, By: chat.User{ID: "U0BOB"}, Emoji: "✅", Button: true, Way: chat.ByButton},
		{On: at, By: chat.User{ID: "U0CLEO"}, Emoji: "❌", Button: true, Way: chat.ByButton},
	} {
		if got := o.in.Reactions; got[0] != want && got[1] != want {
			t.Errorf("click %d is not among %+v", i, got)
		}
	}
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.in.Do(func() { o.in.Fail = errors.New("down") })
	click("U0BOB", layout.ApproveID)
	o.a.lanes.Wait()
	if d := o.fake.Deliveries(); !d[len(d)-1].Acked.IsZero() {
		t.Error("a click that was not put was acknowledged")
	}
	o.in.Do(func() { o.in.Fail = nil })
}

// A person whose click denied a call is asked why; their reason, or its absence, is
// put.
func TestReasons(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	for n, how := range []func(view string){
		func(view string) {
			o.fake.Submit("U0BOB", view, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": "too late"}}})
		},
		func(view string) { o.fake.CloseView("U0BOB", view) },
	} {
		p := chat.Post{Key: fmt.Sprint("ask/", n), ReplyTo: ref, Approval: approval()}
		at, err := o.a.Post(t.Context(), th, p, false)
		if err != nil {
			t.Fatal(err)
		}
		o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.DenyID})
		o.in.Await(t, func() bool { return len(o.in.Reactions) == n+1 })
		p.Approval.Outcome, p.Approval.By = chat.Denied, []chat.User{{ID: "U0BOB", Name: "bob"}}
		if err := o.a.Edit(t.Context(), th, at, p); err != nil {
			t.Fatal(err)
		}
		o.wait(func(s *fakeslack.Server) bool { return len(s.Views("U0BOB")) == n+1 })
		how(o.fake.Views("U0BOB")[n].ID)
		o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 && len(o.said()) >= n+1 })
	}
	if got := o.said(); !slices.Contains(got, th.Root+" c1 bob: too late") {
		t.Errorf("reasons: %q", got)
	}
}

// The process that draws what came of a call asks for the reason, also where another
// one got the click; once, and nobody who reacted.
func TestReasonsOfAnotherProcess(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	other, err := New(o.options())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := chat.Post{Key: "ask/1", ReplyTo: ref, Approval: approval()}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.DenyID})
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	for _, id := range []chat.UserID{"U0BOB", "U0BOB", "U0CLEO"} { // drawn twice; and of somebody who did not click
		p.Approval.Outcome, p.Approval.By = chat.Denied, []chat.User{{ID: id, Name: "bob"}}
		if err := other.Edit(t.Context(), th, at, p); err != nil {
			t.Fatal(err)
		}
		other.Wait()
	}
	if b, c := o.fake.Views("U0BOB"), o.fake.Views("U0CLEO"); len(b) != 1 || len(c) != 0 {
		t.Fatalf("%d forms for bob and %d for cleo", len(b), len(c))
	}
	o.fake.Submit("U0BOB", o.fake.Views("U0BOB")[0].ID, map[string]map[string]any{"reason": {"reason": map[string]any{"type": "plain_text_input", "value": "too late"}}})
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	if got := o.said(); !slices.Equal(got, []string{th.Root + " c1 bob: too late"}) {
		t.Errorf("put %q", got)
	}
}

// The shortcut on a message asks about it, in its thread, or where the bot can't
// write there in the conversation with whoever asks.
func TestShortcut(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	for _, channel := range []string{general, "C0RANDOM"} {
		ts := o.fake.Say("U0BOB", channel, "<!here> prod is down, <@U0CLEO>")
		before := len(o.in.Messages)
		o.fake.Shortcut("U0ADA", channel, ts, AskAbout)
		o.in.Await(t, func() bool { return len(o.in.Messages) == before+1 })
		got := o.in.Messages[before]
		if got.From.ID != "U0ADA" || got.Text != aboutThis || len(got.Quoted) != 1 || got.Quoted[0].From.ID != "U0BOB" || got.Quoted[0].Text != "@here prod is down, @cleo" {
			t.Errorf("%s: %+v", channel, got.Message)
		}
		where := map[string]string{general: general, "C0RANDOM": o.fake.DM("U0ADA")}[channel]
		if theirs := channel == general; got.About != theirs {
			t.Errorf("%s: its ref is that of another one's message: %v, want %v", channel, got.About, theirs)
		}
		if api.ChannelOf(got.Thread.Channel) != where || channel == general && got.Thread.Root != ts {
			t.Errorf("%s: it is asked in %v", channel, got.Thread)
		}
	}
}

// With dm: flat what is asked by the shortcut belongs to the one conversation, as what is
// written there does: else neither `stop` nor a reply would reach its turn.
func TestShortcutInOneConversation(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) { o.DM = Flat })
	dm := o.fake.DM("U0ADA")
	first := o.fake.Say("U0ADA", dm, "hello")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.fake.Shortcut("U0ADA", dm, first, AskAbout)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.fake.Shortcut("U0ADA", "C0RANDOM", o.fake.Say("U0BOB", "C0RANDOM", "prod is down"), AskAbout)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	for _, m := range o.in.Messages {
		if m.Thread != thread(dm, "") {
			t.Errorf("%q is said in %v", m.Text, m.Thread)
		}
	}
}

// The window shows all steps, however many and however long, a page at a time.
func TestStepsOnPages(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	s := chat.Steps{Turn: "7", Done: true, Status: "Done"}
	for i := range 40 {
		s.Items = append(s.Items, chat.Step{Thought: fmt.Sprintf("thought-%d.", i), Calls: []chat.ToolCall{
			{Tool: "search", Args: "{}", State: chat.CallDone, Observation: strings.Repeat("漢字\"", 2000)},
		}})
	}
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "steps/7", ReplyTo: ref, Steps: &s}, false)
	if err != nil {
		t.Fatal(err)
	}
	o.in.Do(func() { o.in.Turns["7"] = s })
	o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.ShowAll})
	o.wait(func(f *fakeslack.Server) bool { return len(f.Views("U0BOB")) == 1 })
	seen, pages := "", 0
	for {
		v := o.fake.Views("U0BOB")[0]
		seen, pages = seen+string(v.Raw), pages+1
		if !strings.Contains(string(v.Raw), olderID) {
			break
		}
		o.fake.Click("U0BOB", fakeslack.Action{View: v.ID, ActionID: olderID})
		o.wait(func(f *fakeslack.Server) bool { return f.Views("U0BOB")[0].Hash != v.Hash })
	}
	for i := range 40 {
		if !strings.Contains(seen, fmt.Sprintf("thought-%d.", i)) {
			t.Errorf("step %d is on none of %d pages", i, pages)
		}
	}
	if strings.Count(seen, "漢字") != 40*2000 || pages < 3 {
		t.Errorf("%d pages, %d of the text", pages, strings.Count(seen, "漢字"))
	}
}

// An answer that nobody can ask another try of has no button for it.
func TestNoDeadButton(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	if _, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello"}}, false); err != nil {
		t.Fatal(err)
	}
	if own := o.own(th); strings.Contains(string(own[0].Blocks), layout.RetryID) {
		t.Errorf("it has %s", own[0].Blocks)
	}
}

// The button under an answer asks for another try.
func TestTryAgainButton(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, func(o *Options) { o.Retries = true })
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	o.fake.Click("U0ADA", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.RetryID})
	o.in.Await(t, func() bool {
		return len(o.in.Reactions) == 1 && o.in.Reactions[0].Emoji == chat.EmojiRetry && o.in.Reactions[0].Button && o.in.Reactions[0].On == at
	})
}

// Nothing in long arguments is hidden either, and the digest is that of the file.
func TestLongArgumentsHideNothing(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	a := approval()
	a.Args = `{"script":"` + strings.Repeat("rm -rf x; ", 400) + "\u202e" + `"}`
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: a}, false)
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	card, _ := o.fake.Message(general, at.ID)
	for _, m := range o.fake.Messages(general, th.Root) {
		for _, f := range m.Files {
			files++
			if strings.Contains(string(f.Data), "\u202e") || !strings.Contains(string(f.Data), `\u202e`) || !strings.Contains(string(card.Blocks), chat.Sum(string(f.Data))[:12]) {
				t.Errorf("the file ends with %q", f.Data[len(f.Data)-20:])
			}
		}
	}
	if files != 1 {
		t.Errorf("%d files, want 1", files)
	}
}

// A person who wants to see steps is told where they can't be read, or are not kept.
func TestStepsThatAreNotThere(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	s := chat.Steps{Turn: "7", Done: true, Status: "Done", Items: []chat.Step{{Thought: "so"}}}
	at, err := o.a.Post(t.Context(), th, chat.Post{Key: "steps/7", ReplyTo: ref, Steps: &s}, false)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{"These steps are not kept any more.", front.Away} {
		o.in.Do(func() {
			if n > 0 {
				o.in.Fail = errors.New("down")
			}
		})
		o.fake.Click("U0BOB", fakeslack.Action{Channel: general, TS: at.ID, ActionID: layout.ShowAll})
		o.wait(func(f *fakeslack.Server) bool { return len(f.Ephemerals("U0BOB")) == n+1 })
		if got := o.fake.Ephemerals("U0BOB")[n].Text; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	o.in.Do(func() { o.in.Fail = nil })
}
