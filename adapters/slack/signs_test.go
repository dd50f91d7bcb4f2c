package slack

import (
	"testing"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/internal/fakeslack"
)

func TestSigns(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	dm := o.fake.DM("U0ADA")
	ts := o.fake.Say("U0ADA", dm, "hi")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	th, ref := thread(dm, ts), api.RefOf(fakeslack.Team, dm, ts)
	for range 2 {
		if err := o.a.React(t.Context(), ref, chat.EmojiSeen); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.a.Whisper(t.Context(), th, chat.User{ID: "U0ADA"}, ref, "no <!here>"); err != nil {
		t.Fatal(err)
	}
	if e := o.fake.Ephemerals("U0ADA"); len(e) != 1 || e[0].Text != "no &lt;!here&gt;" {
		t.Errorf("whispered %+v", e)
	}
}

// That the bot is at work is the status of the thread's session, in channels too,
// with a stop button; it says so until the turn ends and no longer, and says
// that it waits while an approval does.
func TestSessions(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	is := func(want string) {
		t.Helper()
		o.wait(func(s *fakeslack.Server) bool { return s.Session(general, th.Root) == want })
	}
	o.a.Working(th, chat.Work{What: "Thinking"})
	is("processing")
	o.fake.StopSession("U0ADA", general, th.Root)
	o.in.Await(t, func() bool { return len(o.in.Halts) == 1 && o.in.Halts[0] == th })
	p := chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: approval()}
	at, err := o.a.Post(t.Context(), th, p, false)
	if err != nil {
		t.Fatal(err)
	}
	is("processing") // a post ends nothing
	o.a.Working(th, chat.Work{})
	is("suspended")
	o.a.Working(th, chat.Work{What: "Thinking"})
	is("processing")
	p.Approval.Outcome = chat.Denied
	if err := o.a.Edit(t.Context(), th, at, p); err != nil {
		t.Fatal(err)
	}
	o.a.Working(th, chat.Work{})
	is("active")
	if all := o.fake.Sessions(general, th.Root); len(all) != 4 || all[0].Title != "hi" {
		t.Errorf("the session was %+v", all)
	}
	if o.a.working.calls.Wait(); len(o.a.working.at) != 0 {
		t.Errorf("it remembers %v", o.a.working.at)
	}
}

// An approval that another process drew the outcome of does not have a later turn of the
// thread end as one that waits.
func TestSessionOfAnApprovalElsewhere(t *testing.T) {
	t.Parallel()
	o, th, ref := called(t, fakeslack.Options{}, nil)
	is := func(want string) {
		t.Helper()
		o.wait(func(s *fakeslack.Server) bool { return s.Session(general, th.Root) == want })
	}
	post := func(p chat.Post) {
		t.Helper()
		if p.ReplyTo = ref; p.Approval != nil {
			o.a.Working(th, chat.Work{What: "Thinking"})
		}
		if _, err := o.a.Post(t.Context(), th, p, false); err != nil {
			t.Fatal(err)
		}
	}
	post(chat.Post{Key: "ask/c1", Approval: approval()})
	post(chat.Post{Key: "notice/1", Text: &chat.Text{Markdown: "It still waits.", Notice: true}})
	o.a.Working(th, chat.Work{})
	is("suspended")
	o.a.Working(th, chat.Work{What: "Thinking"}) // the next turn: what came of the call was drawn by another process
	is("processing")
	post(chat.Post{Key: "answer/2", Text: &chat.Text{Markdown: "hello"}})
	o.a.Working(th, chat.Work{})
	is("active")
	if o.a.working.calls.Wait(); len(o.a.working.at) != 0 {
		t.Errorf("it remembers %v", o.a.working.at)
	}
}

// A quick turn costs no call, and one that ends while its sign is on its way
// takes it back.
func TestShortSigns(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	began := time.Now()
	o.a.Working(th, chat.Work{What: "Thinking"})
	o.a.Working(th, chat.Work{})
	if quick := time.Since(began) < signAfter; quick && len(o.a.working.at) != 0 {
		t.Error("it remembers a turn that showed nothing")
	}
	o.a.working.calls.Wait()
	hold := make(chan struct{})
	fault := o.fake.Fail(fakeslack.Fault{Method: "agents.sessions.setStatus", Hold: hold})
	o.a.Working(th, chat.Work{What: "Thinking"})
	o.wait(func(*fakeslack.Server) bool { return fault.Hits() == 1 })
	o.a.Working(th, chat.Work{})
	close(hold)
	o.wait(func(s *fakeslack.Server) bool { return s.Session(general, th.Root) == "active" })
}

// With any fate of the calls that show a sign, no thread looks at work for ever.
func TestSignsEnd(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string][]fakeslack.Fault{
		"shown, and not told so": {{Status: 500, After: true}},
		"not ended":              {{Skip: 1, Status: 500}},
		"ended, and not told so": {{Skip: 1, Drop: true, After: true}},
		"not ended for long":     {{Skip: 1, Status: 503, Times: 6}},
		"both":                   {{Drop: true, After: true}, {Drop: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, th, _ := called(t, fakeslack.Options{NoLimits: true}, nil)
			for _, f := range faults {
				f.Method = "agents.sessions.setStatus"
				o.fake.Fail(f)
			}
			o.a.Working(th, chat.Work{What: "Thinking"})
			o.wait(func(s *fakeslack.Server) bool { return s.Session(general, th.Root) == "processing" })
			o.a.Working(th, chat.Work{})
			o.wait(func(s *fakeslack.Server) bool { return s.Session(general, th.Root) == "active" })
			if o.a.working.calls.Wait(); len(o.a.working.at) != 0 {
				t.Errorf("it remembers %v", o.a.working.at)
			}
		})
	}
}

// A workspace without sessions has the older status, in direct conversations.
func TestSignsWithoutSessions(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{NoSessions: true}, nil)
	dm := o.fake.DM("U0ADA")
	direct := thread(dm, o.fake.Say("U0ADA", dm, "hi"))
	for range 2 {
		o.a.Working(direct, chat.Work{What: "Thinking"})
		o.wait(func(s *fakeslack.Server) bool { return s.Status(dm, direct.Root) != "" })
		o.a.Working(direct, chat.Work{})
		o.wait(func(s *fakeslack.Server) bool {
			return s.Session(dm, direct.Root) == "active" && s.Status(dm, direct.Root) == ""
		})
	}
	if n := len(o.fake.Calls("agents.sessions.setStatus")); n != 1 {
		t.Errorf("sessions were tried %d times", n)
	}
	o.a.Working(th, chat.Work{What: "Thinking"})
	o.a.Working(direct, chat.Work{What: "Thinking"})
	o.wait(func(s *fakeslack.Server) bool { return s.Status(dm, direct.Root) != "" })
	o.a.Working(direct, chat.Work{})
	o.a.Working(th, chat.Work{})
	if o.a.working.calls.Wait(); len(o.fake.Processing()) != 0 {
		t.Errorf("at work still: %v", o.fake.Processing())
	}
}
