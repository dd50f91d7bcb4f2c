package slack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/front"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
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
	if _, err := o.a.Post(t.Context(), th, chat.Post{Key: "ask/c1", ReplyTo: ref, Approval: approval()}, false); err != nil {
		t.Fatal(err)
	}
	is("processing") // a post ends nothing
	o.a.Working(th, chat.Work{What: "Waiting for approval of deploy", Waits: true})
	is("suspended")
	o.a.Working(th, chat.Work{What: "Running deploy"})
	is("processing")
	o.wait(func(s *fakeslack.Server) bool { return s.Status(general, th.Root) == "Running deploy" })
	o.a.Working(th, chat.Work{})
	o.a.working.calls.Wait()
	is("active")
	if all := o.fake.Sessions(general, th.Root); len(all) != 4 || all[0].Title != "hi" {
		t.Errorf("the session was %+v", all)
	}
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

// Words that are on their way when the turn ends don't have Slack show it at work for ever:
// the end is the last word.
func TestWordsOnTheirWay(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	o.a.Working(th, chat.Work{What: "Thinking"})
	o.wait(func(s *fakeslack.Server) bool { return s.Status(general, th.Root) == "Thinking" })
	hold := make(chan struct{})
	fault := o.fake.Fail(fakeslack.Fault{Method: "assistant.threads.setStatus", Hold: hold})
	o.a.Working(th, chat.Work{What: "Thinking", For: 10 * time.Second})
	o.wait(func(*fakeslack.Server) bool { return fault.Hits() == 1 })
	o.a.Working(th, chat.Work{})
	close(hold)
	if o.a.working.calls.Wait(); len(o.fake.Processing()) != 0 || o.fake.Status(general, th.Root) != "" {
		t.Errorf("at work still: %v, %q", o.fake.Processing(), o.fake.Status(general, th.Root))
	}
}

// A workspace without sessions has the older status, in channels, in direct conversations
// and in flat ones, where it stands under the message that is answered.
func TestSignsWithoutSessions(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{NoSessions: true}, nil)
	dm := o.fake.DM("U0ADA")
	direct := thread(dm, o.fake.Say("U0ADA", dm, "hi"))
	flat, asked := thread(dm, ""), o.fake.Say("U0ADA", dm, "and?")
	for range 2 {
		for _, at := range []struct {
			thread  chat.ThreadID
			channel string
			under   string
		}{{th, general, th.Root}, {direct, dm, direct.Root}, {flat, dm, asked}} {
			on := chat.MessageRef{Platform: Platform, Channel: at.thread.Channel, ID: at.under}
			o.a.Working(at.thread, chat.Work{What: "Thinking", On: on})
			o.wait(func(s *fakeslack.Server) bool { return s.Status(at.channel, at.under) == "Thinking" })
			o.a.Working(at.thread, chat.Work{What: "Thinking", For: time.Minute, On: on})
			o.wait(func(s *fakeslack.Server) bool { return s.Status(at.channel, at.under) == "Thinking · 60 s" })
			o.a.Working(at.thread, chat.Work{})
			o.wait(func(s *fakeslack.Server) bool { return s.Status(at.channel, at.under) == "" })
		}
	}
	if n := len(o.fake.Calls("agents.sessions.setStatus")); n != 1 {
		t.Errorf("sessions were tried %d times", n)
	}
	if o.a.working.calls.Wait(); len(o.fake.Processing()) != 0 || len(o.a.working.at) != 0 {
		t.Errorf("at work still: %v, %v", o.fake.Processing(), o.a.working.at)
	}
}

// A channel that the bot was removed from says nothing of the others: those have the stop
// button.
func TestNotAuthorizedIsOfOneChannel(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{}, nil)
	is := func(channel, root, want string) {
		t.Helper()
		o.wait(func(s *fakeslack.Server) bool { return s.Session(channel, root) == want })
	}
	o.a.Working(th, chat.Work{What: "Thinking"})
	is(general, th.Root, "processing")
	o.fake.Fail(fakeslack.Fault{Method: "agents.sessions.setStatus", Error: "not_authorized"})
	o.a.Working(th, chat.Work{})
	is(general, th.Root, "active") // by the older call
	dm := o.fake.DM("U0ADA")
	direct := thread(dm, o.fake.Say("U0ADA", dm, "hi"))
	o.a.Working(direct, chat.Work{What: "Thinking"})
	o.wait(func(s *fakeslack.Server) bool { return len(s.Sessions(dm, direct.Root)) == 1 })
	o.a.Working(direct, chat.Work{})
	is(dm, direct.Root, "active")
}

// Beyond 40 calls of sessions a minute the older status says that the bot is at work, and
// it ends as surely.
func TestManySigns(t *testing.T) {
	t.Parallel()
	o, _, _ := called(t, fakeslack.Options{NoLimits: true}, func(o *Options) { o.Pace = 1000 })
	var all []chat.ThreadID
	for range mostSessions + 8 {
		all = append(all, thread(general, o.fake.Say("U0ADA", general, "hi")))
	}
	for _, th := range all {
		o.a.working.ours.Add(th)
		o.a.Working(th, chat.Work{What: "Thinking"})
	}
	for _, th := range all {
		o.wait(func(s *fakeslack.Server) bool { return s.Status(general, th.Root) == "Thinking" })
	}
	if n := len(o.fake.Calls("agents.sessions.setStatus")); n != mostSessions {
		t.Errorf("%d calls of sessions, want %d", n, mostSessions)
	}
	for _, th := range all {
		o.a.Working(th, chat.Work{})
	}
	if o.a.working.calls.Wait(); len(o.fake.Processing()) != 0 || len(o.a.working.at) != 0 {
		t.Errorf("at work still: %v, %v", o.fake.Processing(), o.a.working.at)
	}
}

// far is Slack at a quarter of a second's distance. It takes everything, and counts calls
// by method.
type far struct {
	mu    sync.Mutex
	calls map[string]int
}

// RoundTrip implements http.RoundTripper.
func (f *far) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(250 * time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[path.Base(r.URL.Path)]++
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"ok":true}`)), Request: r}, nil
}

// 32 questions at once in a channel: each shows within a second that nod is at work, and how
// to stop it, under Slack's published limits.
func TestSignsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slack := &far{calls: map[string]int{}}
		a, err := New(Options{AppToken: "xapp-1", BotToken: "xoxb-1", Common: front.Common{Inbox: ledger.New(), HTTP: &http.Client{Transport: slack}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = a.web.Out.Run(ctx) }()
		for i := range 32 {
			th := thread(general, fmt.Sprintf("1795614447.%06d", i))
			a.working.ours.Add(th)
			a.Working(th, chat.Work{What: "Thinking"})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		slack.mu.Lock()
		if n := slack.calls["agents.sessions.setStatus"]; n != 32 {
			t.Errorf("%d of 32 threads show it", n)
		}
		slack.mu.Unlock()
		a.working.stop()
		a.working.calls.Wait()
	})
}
