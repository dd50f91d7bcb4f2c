package slack

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// gone stops the adapter once it has noted that all was heard, and waits until
// Slack delivers nothing any more.
func (o *office) gone() {
	o.t.Helper()
	o.in.Await(o.t, func() bool { return len(o.in.Notes["slack listened"]) > 0 })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.stop()
	o.wait(func(s *fakeslack.Server) bool { return s.Sockets() == 0 })
}

// texts lists what was put, in alphabetical order.
func (o *office) texts() []string {
	all := o.in.Texts()
	slices.Sort(all)
	return all
}

// Where nothing was ever heard, and in threads that the bot does not know, whoever
// called it while it was away is answered; and nobody twice.
func TestCalledWhileAway(t *testing.T) {
	t.Parallel()
	quick := func(o *Options) { o.Pace = 10_000 }
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond, NoLimits: true}, quick)
	for _, ch := range []fakeslack.Channel{{ID: "C0QUIET", Name: "quiet"}, {ID: "C0PRIV", Name: "priv", Kind: fakeslack.Private}, {ID: "C0FAR", Name: "far"}} {
		ch.Members = []string{"U0ADA", "U0BOB"}
		if ch.ID != "C0FAR" {
			ch.Members = append(ch.Members, fakeslack.BotUser)
		}
		o.fake.AddChannel(ch)
	}
	root := o.fake.Say("U0BOB", general, "prod is down")
	old := o.fake.Say("U0BOB", "C0QUIET", "nothing to say")
	o.fake.Reply("U0ADA", "C0QUIET", old, "indeed")
	o.gone()
	lost := o.fake.Lost()
	o.fake.Reply("U0BOB", general, root, "who knows")
	o.fake.Reply("U0ADA", general, root, "<@U0BOT> why?")
	o.fake.Say("U0ADA", "C0QUIET", "<@U0BOT> quiet here")
	o.fake.Say("U0ADA", "C0PRIV", "<@U0BOT> private")
	o.fake.Say("U0ADA", "C0PRIV", "among us")
	o.fake.Say("U0ADA", "C0FAR", "<@U0BOT> it is not here")
	o.fake.Say("U0BOB", o.fake.DM("U0BOB"), "direct")
	o.wait(func(s *fakeslack.Server) bool { return s.Lost() == lost+9 }) // Slack has given up on these events
	want := []string{"direct", "private", "quiet here", "why?"}
	for range 2 {
		o.in.Do(func() { clear(o.in.Marks) })
		o.run(quick)
		o.in.Await(t, func() bool { return len(o.in.Messages) >= len(want) })
		o.gone()
		if diff := cmp.Diff(want, o.texts()); diff != "" {
			t.Fatalf("messages (-want +got):\n%s", diff)
		}
	}
	for _, m := range o.in.Messages {
		if got := len(m.Quoted); m.Text == "why?" && got != 2 {
			t.Errorf("%d quotes, want what was said in the thread before", got)
		}
	}
}

// A process that dies before it has looked leaves the gap to the next one; and in
// what was there before the first start nothing was missed.
func TestGapIsLeftToTheNext(t *testing.T) {
	t.Parallel()
	quick := func(o *Options) { o.Pace = 10_000 }
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond, NoLimits: true}, quick)
	o.gone()
	lost := o.fake.Lost()
	o.fake.Say("U0ADA", general, "<@U0BOT> hello?")
	o.wait(func(s *fakeslack.Server) bool { return s.Lost() == lost+2 }) // message and app_mention
	fault := o.fake.Fail(fakeslack.Fault{Method: "conversations.history", Error: "fatal_error", Times: -1})
	o.run(quick)
	o.wait(func(*fakeslack.Server) bool { return fault.Hits() > 0 })
	o.a.NoteListening(t.Context())
	o.stop()
	fault.Cancel()
	o.run(quick)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
}

// A missed message whose author Slack does not name holds up its own thread, and no
// other.
func TestOneHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	quick := func(o *Options) { o.Pace = 10_000 }
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond, NoLimits: true}, quick)
	o.gone()
	lost := o.fake.Lost()
	root := o.fake.Say("U0BOB", general, "<@U0BOT> mine first")
	o.fake.Reply("U0ADA", general, root, "<@U0BOT> and this then")
	o.fake.Say("U0ADA", general, "<@U0BOT> hello?")
	o.wait(func(s *fakeslack.Server) bool { return s.Lost() == lost+6 }) // message and app_mention of each
	fault := o.fake.Fail(fakeslack.Fault{Method: "users.info", Match: func(a fakeslack.Args) bool { return a["user"] == "U0BOB" }, Error: "internal_error", Times: -1})
	o.run(quick)
	o.wait(func(*fakeslack.Server) bool { return fault.Hits() > 0 })
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	fault.Cancel()
	o.stop()
	o.run(quick)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	if diff := cmp.Diff([]string{"hello?", "mine first", "and this then"}, o.in.Texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Before the first start nobody listened, so that nothing was missed.
func TestFirstStart(t *testing.T) {
	fake := fakeslack.Start(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond})
	fake.Say("U0ADA", general, "<@U0BOT> are you there yet?")
	o := &office{t: t, fake: fake, in: ledger.New()}
	o.wait(func(s *fakeslack.Server) bool { return s.Lost() == 2 })
	o.run(nil)
	o.gone()
	if got := o.in.Texts(); len(got) > 0 {
		t.Errorf("put %q", got)
	}
	if n := len(fake.Calls("conversations.history")); n > 0 {
		t.Errorf("%d histories were read", n)
	}
}

// After a gap only the threads with new messages are read, however many the bot is in:
// Slack allows some fifty a minute.
func TestQuietThreadsAreNotRead(t *testing.T) {
	const since, now = 3 * unputBack, 4 * unputBack
	fake := fakeslack.Start(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond, NoLimits: true})
	o := &office{t: t, fake: fake, in: ledger.New()}
	var roots []string
	for range 20 {
		root := fake.Say("U0ADA", general, "<@U0BOT> hello")
		last := fake.Reply("U0ADA", general, root, "<@U0BOT> and again")
		o.in.Marks = append(o.in.Marks, chat.Watermark{Thread: api.ThreadID("T0TEAM", general, root), Last: api.RefOf("T0TEAM", general, last), Sent: api.SentAt(last)})
		o.in.Known[api.MessageKey(general, root)], o.in.Known[api.MessageKey(general, last)] = true, true
		roots = append(roots, root)
	}
	noted, err := time.Now().Add(since).MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	o.in.Notes["slack listened"] = noted
	fake.Advance(now)
	fake.Reply("U0ADA", general, roots[3], "<@U0BOT> where are you?")
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 }) // Slack has given up on all of it
	o.run(func(o *Options) {
		o.Pace = 10_000
		o.Now = func() time.Time { return time.Now().Add(now) }
	})
	o.in.Await(t, func() bool { return len(o.in.Messages) > 0 && string(o.in.Notes["slack listened"]) != string(noted) })
	o.gone()
	if diff := cmp.Diff([]string{"where are you?"}, o.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if o.in.Repeats >= len(roots) {
		t.Errorf("%d messages were put again that opened threads which the bot knows", o.in.Repeats)
	}
	for _, c := range fake.Calls("conversations.replies") {
		if c.Args["ts"] != roots[3] {
			t.Errorf("the thread of %s was read, in which nobody wrote", c.Args["ts"])
		}
	}
}

// A message so old that its event id is forgotten is not put again by a look: a quiet
// thread is not read because an older one of its channel was touched, as by an approval
// that lapsed.
func TestHeardLongAgo(t *testing.T) {
	t.Parallel()
	quick := func(o *Options) { o.Pace = 10_000 }
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond, NoLimits: true}, quick)
	o.fake.Say("U0ADA", general, "<@U0BOT> long ago")
	o.fake.Say("U0ADA", o.fake.DM("U0ADA"), "long ago")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	var marks []chat.Watermark
	o.in.Do(func() { marks = slices.Clone(o.in.Marks) })
	root := o.fake.Say("U0ADA", general, "<@U0BOT> later")
	o.fake.Reply("U0ADA", general, root, "<@U0BOT> and more")
	o.fake.Say("U0ADA", o.fake.DM("U0ADA"), "later")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 5 })
	o.gone()
	now := func() time.Time { return time.Now().Add(80 * time.Hour) }
	noted, _ := now().Add(-time.Minute).MarshalText()
	o.in.Do(func() { // three days later
		clear(o.in.Known)
		o.in.Marks, o.in.Notes["slack listened"] = marks, noted
	})
	o.run(func(o *Options) { o.Pace, o.Now = 10_000, now })
	o.in.Await(t, func() bool { return string(o.in.Notes["slack listened"]) != string(noted) })
	if diff := cmp.Diff([]string{"and more", "later", "later", "long ago", "long ago"}, o.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
