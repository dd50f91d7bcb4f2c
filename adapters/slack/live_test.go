package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/intake"
	"nod/front"
	"nod/internal/fakeslack"
	"nod/internal/ledger"
)

// A mention goes into the inbox once, and an answer comes back into its thread.
func TestMentionAndAnswer(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	ts := o.fake.Say("U0ADA", general, fakeslack.Mention+" what is <https://go.dev|Go>?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 && o.in.Repeats == 1 })
	want := ledger.Put{Thread: thread(general, ts), Message: chat.Message{
		Ref: api.RefOf(fakeslack.Team, general, ts), From: chat.User{ID: "U0ADA", Name: "ada", Zone: "Europe/Berlin"},
		Text: "what is Go (https://go.dev)?", Sent: api.SentAt(ts),
	}}
	if diff := cmp.Diff(want, o.in.Messages[0]); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })

	ref, err := o.a.Post(t.Context(), thread(general, ts), chat.Post{Key: "answer/1", Text: &chat.Text{Markdown: "A **language**. <!channel>"}}, false)
	if err != nil {
		t.Fatal(err)
	}
	msgs := o.fake.Messages(general, ts)
	if len(msgs) != 2 || msgs[1].TS != ref.ID || !strings.Contains(string(msgs[1].Blocks), "A **language**.") {
		t.Fatalf("the thread is %+v", msgs)
	}
	if strings.Contains(string(msgs[1].Blocks), "<!channel>") || strings.Contains(msgs[1].Text, "<!channel>") {
		t.Errorf("it mentions everybody: %s", msgs[1].Blocks)
	}
	if !o.a.Ready() {
		t.Error("it is not ready")
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	dm := func(s *fakeslack.Server) string { return s.DM("U0ADA") }
	tests := []struct {
		name    string
		change  func(*Options)
		act     func(o *office, root string)
		standin chat.Standing
		want    []string
	}{
		{"no mention", nil, func(o *office, _ string) { o.fake.Say("U0ADA", general, "hello") }, chat.Standing{}, nil},
		{"followed", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{Known: true}, []string{"and now?"}},
		{"before it was called", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "stop") }, chat.Standing{Known: true, Running: true, First: time.Now().Add(time.Hour)}, nil},
		{"a caller", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{Known: true, Callers: []chat.UserID{"U0BOB"}}, []string{"and now?"}},
		{"no caller", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{Known: true, Callers: []chat.UserID{"U0ADA"}}, []string{"aside: and now?"}},
		{"no caller, followed", func(o *Options) { o.Follow = "thread" }, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{Known: true, Callers: []chat.UserID{"U0ADA"}}, []string{"and now?"}},
		{"a caller, to others", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "<@U0CLEO> look") }, chat.Standing{Known: true, Callers: []chat.UserID{"U0BOB"}}, []string{"aside: @cleo look"}},
		{"no caller, mentioned", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "<@U0BOT> and now?") }, chat.Standing{Known: true, Callers: []chat.UserID{"U0ADA"}}, []string{"and now?"}},
		{"no caller, stop", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "stop") }, chat.Standing{Known: true, Running: true, Callers: []chat.UserID{"U0ADA"}}, []string{"stop"}},
		{"muted", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{Known: true, Muted: true, Callers: []chat.UserID{"U0BOB"}}, []string{"aside: and now?"}},
		{"muted, unmute", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "Unmute") }, chat.Standing{Known: true, Muted: true, Callers: []chat.UserID{"U0ADA"}}, []string{"Unmute"}},
		{"muted, mentioned", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "<@U0BOT> and now?") }, chat.Standing{Known: true, Muted: true, Callers: []chat.UserID{"U0BOB"}}, []string{"and now?"}},
		{"unknown thread", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{}, nil},
		{"mentions only others", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "<@U0CLEO> look") }, chat.Standing{Known: true}, []string{"aside: @cleo look"}},
		{"mentions others too", nil, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "<@U0CLEO> and <@U0BOT> look") }, chat.Standing{Known: true}, []string{"@cleo and @nod look"}},
		{"not followed", func(o *Options) { o.Follow = "mentions" }, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "and now?") }, chat.Standing{Known: true}, []string{"aside: and now?"}},
		{"stop", func(o *Options) { o.Follow = "mentions" }, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, " Stop ") }, chat.Standing{Known: true, Running: true}, []string{"Stop"}},
		{"stop at rest", func(o *Options) { o.Follow = "mentions" }, func(o *office, r string) { o.fake.Reply("U0BOB", general, r, "stop") }, chat.Standing{Known: true}, []string{"aside: stop"}},
		{"private channel", nil, func(o *office, _ string) { o.fake.Say("U0BOB", "C0SECRET", "<@U0BOT> psst") }, chat.Standing{}, []string{"psst"}},
		{"direct", nil, func(o *office, _ string) { o.fake.Say("U0ADA", dm(o.fake), "hi") }, chat.Standing{}, []string{"hi"}},
		{"a bot", nil, func(o *office, _ string) {
			o.fake.Write(fakeslack.Line{Bot: "B0OTHER", Username: "hook", Channel: general, Text: "<@U0BOT> hi"})
		}, chat.Standing{}, nil},
		{"an allowed bot", func(o *Options) { o.AllowBots = []string{"B0OTHER"} }, func(o *office, _ string) {
			o.fake.Write(fakeslack.Line{Bot: "B0OTHER", Username: "hook", Channel: general, Text: "<@U0BOT> hi"})
		}, chat.Standing{}, []string{"hi"}},
		{"a program in a person's name", nil, func(o *office, r string) {
			o.fake.Write(fakeslack.Line{User: "U0ADA", Bot: "B0MCP", Channel: general, Thread: r, Text: "y"})
		}, chat.Standing{Known: true, Running: true, Callers: []chat.UserID{"U0ADA"}}, []string{"outside: y"}},
		{"a bot in the thread", func(o *Options) { o.Follow = "mentions" }, func(o *office, r string) {
			o.fake.Write(fakeslack.Line{Bot: "B0OTHER", Username: "ci", Channel: general, Thread: r, Text: "<@U0BOT> stop: build 512 failed"})
		}, chat.Standing{Known: true, Running: true}, []string{"outside: stop: build 512 failed"}},
		{"somebody who is not heard", func(o *Options) { o.Allow = []string{"user:U0CLEO"} }, func(o *office, r string) {
			o.fake.Reply("U0BOB", general, r, "<@U0BOT> stop")
		}, chat.Standing{Known: true, Running: true}, []string{"outside: stop"}},
		{"somebody who is not heard, elsewhere", func(o *Options) { o.Allow = []string{"user:U0CLEO"} }, func(o *office, r string) {
			o.fake.Reply("U0BOB", general, r, "<@U0BOT> hi")
		}, chat.Standing{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakeslack.Options{}, tt.change)
			root := o.fake.Say("U0ADA", general, "the root")
			o.in.Do(func() { o.in.Threads[thread(general, root)] = tt.standin })
			tt.act(o, root)
			o.fake.Say("U0CLEO", o.fake.DM("U0CLEO"), "the end")
			o.in.Await(t, func() bool { return len(o.in.Messages) > 0 && len(o.in.Messages) >= len(tt.want)+1 })
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			var got []string
			for _, m := range o.in.Messages {
				text := m.Text
				switch {
				case m.Outside:
					text = "outside: " + text
				case m.Aside:
					text = "aside: " + text
				}
				if text != "the end" {
					got = append(got, text)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// An event that can't be put is not acknowledged, and is put when Slack
// delivers it again.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{AckTimeout: 50 * time.Millisecond}, nil)
	o.in.Do(func() { o.in.Fail = errors.New("down") })
	ts := o.fake.Say("U0ADA", o.fake.DM("U0ADA"), "hi")
	o.wait(func(s *fakeslack.Server) bool {
		d := s.Deliveries()
		return len(d) > 0 && d[len(d)-1].Frames > 1
	})
	o.in.Do(func() { o.in.Fail = nil })
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if got := o.in.Messages[0].Ref.ID; got != ts {
		t.Errorf("message %s, want %s", got, ts)
	}
}

func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	for name, rewrite := range map[string]func([]byte) []byte{
		"nil": fakeslack.NilFields("channel", "ts"), "no event": func([]byte) []byte { return []byte(`{"type":"event_callback"}`) },
		"list": func([]byte) []byte { return []byte(`[]`) }, "null": func([]byte) []byte { return []byte(`null`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := make(chan struct{}, 100)
			o := open(t, fakeslack.Options{AckTimeout: ledger.Longest / 4}, func(o *Options) { o.Observe.Malformed = func() { n <- struct{}{} } })
			o.fake.Disturb(fakeslack.Disturbance{Event: "message", Rewrite: rewrite})
			dm := o.fake.DM("U0ADA")
			o.fake.Say("U0ADA", dm, "lost")
			o.fake.Say("U0ADA", dm, "kept")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
			<-n
			if lost := o.fake.Lost(); lost != 0 {
				t.Errorf("%d events were not acknowledged", lost)
			}
			if got := o.in.Texts(); got[0] != "kept" {
				t.Errorf("messages %q", got)
			}
		})
	}
}

// A frame that is no JSON is passed over; the socket lives on.
func TestGarbledFrame(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond}, nil)
	o.fake.Disturb(fakeslack.Disturbance{Event: "message", Rewrite: fakeslack.Garbled})
	dm := o.fake.DM("U0ADA")
	o.fake.Say("U0ADA", dm, "lost")
	o.fake.Say("U0ADA", dm, "kept")
	o.in.Await(t, func() bool { return len(o.in.Messages) > 0 && o.in.Messages[len(o.in.Messages)-1].Text == "kept" })
}

// A message with an odd block in it is still a message.
func TestOddBlocks(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	o.fake.Disturb(fakeslack.Disturbance{Event: "message", Rewrite: fakeslack.BadBlocks})
	o.fake.Say("U0ADA", o.fake.DM("U0ADA"), "odd")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	o.fake.Disturb(fakeslack.Disturbance{Event: "message", Twice: true, Phantom: true})
	dm := o.fake.DM("U0ADA")
	o.fake.Say("U0ADA", dm, "once")
	o.in.Await(t, func() bool { return o.in.Repeats == 2 })
	if got := o.in.Texts(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
}

func TestEditsAndDeletions(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	ts := o.fake.Say("U0ADA", general, "<@U0BOT> frist")
	o.fake.Edit("U0ADA", general, ts, "<@U0BOT> first")
	o.fake.Delete("U0ADA", general, ts)
	o.in.Await(t, func() bool {
		return len(o.in.Deletions) == 1 && o.in.Edits[api.RefOf(fakeslack.Team, general, ts)] == "first"
	})
}

// A program that writes in a person's name is never that person.
func TestProgramInAPersonsName(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) { o.AllowBots = []string{"B0MCP"} })
	o.fake.Write(fakeslack.Line{User: "U0ADA", Bot: "B0MCP", Channel: general, Text: fakeslack.Mention + " approve it"})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if by := o.in.Messages[0].From; !by.Bot || by.ID != "B0MCP" {
		t.Errorf("it is by %+v", by)
	}
}

func TestReactions(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) { o.Emoji = map[string]bool{"👍": true} })
	ts := o.fake.Say("U0ADA", general, "<@U0BOT> hi")
	o.fake.React("U0BOB", general, ts, "tada")
	o.fake.React("U0ADA", general, ts, "+1::skin-tone-2")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	o.fake.Unreact("U0ADA", general, ts, "+1::skin-tone-2")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 })
	o.fake.React("U0ADA", general, ts, "+1::skin-tone-2")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 3 })
	ref, ada := api.RefOf(fakeslack.Team, general, ts), chat.User{ID: "U0ADA"}
	want := []chat.Reaction{{On: ref, By: ada, Emoji: "👍"}, {On: ref, By: ada, Emoji: "👍", Removed: true}, {On: ref, By: ada, Emoji: "👍"}}
	if diff := cmp.Diff(want, o.in.Reactions); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	calls := len(o.fake.Calls("users.info"))
	for i := range 20 {
		o.fake.AddUser(fakeslack.User{ID: fmt.Sprintf("U0S%02d", i), Name: "stranger"})
		o.fake.React(fmt.Sprintf("U0S%02d", i), general, ts, "+1")
	}
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 23 })
	if n := len(o.fake.Calls("users.info")) - calls; n > 0 {
		t.Errorf("%d look-ups before the votes are put", n)
	}
}

// Called into a thread, it gets what was said there, but nothing from before
// the horizon.
func TestQuoted(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	root := o.fake.Say("U0ADA", general, "old secret")
	last := o.fake.Reply("U0BOB", general, root, "the last that was forgotten")
	o.fake.Reply("U0BOT", general, root, "Forgotten. I remember nothing of what was said here before.") // its own words are no quote
	o.fake.Reply("U0CLEO", general, root, "prod is down &amp; out")
	o.in.Do(func() { o.in.Threads[thread(general, root)] = chat.Standing{Horizon: api.SentAt(last)} })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 }) // else it may come after the call, by another socket
	o.fake.Reply("U0ADA", general, root, "<@U0BOT> why?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	want := []chat.Quote{{From: chat.User{ID: "U0CLEO", Name: "cleo"}, Text: "prod is down & out"}}
	if diff := cmp.Diff(want, o.in.Messages[0].Quoted, cmpopts.IgnoreFields(chat.Quote{}, "Ref")); diff != "" {
		t.Errorf("quoted (-want +got):\n%s", diff)
	}
	if o.in.Messages[0].Quoted[0].Ref.IsZero() {
		t.Error("a quote does not name its message")
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	o.fake.Write(fakeslack.Line{User: "U0ADA", Channel: o.fake.DM("U0ADA"), Text: "look", Files: []fakeslack.Upload{
		{Name: "notes.txt", Data: []byte("alpha\n" + strings.Repeat("x", 20_000))},
		{Name: "pic.png", Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00")},
		{Name: "big.png", Data: make([]byte, intake.MostImage+1)},
		{Name: "a.zip", MediaType: "application/zip", Data: []byte("PK")},
	}})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	files := o.in.Messages[0].Files
	if len(files) != 4 || len(files[0].Text) != chat.FileText || len(o.in.Blobs[files[0].Blob]) != 20_006 {
		t.Fatalf("files %+v", files)
	}
	if files[1].Blob == "" || files[1].MediaType != "image/gif" || files[2].Blob != "" || files[3].Blob == "" || files[3].Name != "a.zip" {
		t.Errorf("files %+v", files)
	}
}

func TestFlatDM(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, func(o *Options) { o.DM = "flat" })
	dm := o.fake.DM("U0ADA")
	o.fake.Say("U0ADA", dm, "hi")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if got := o.in.Messages[0].Thread; got != thread(dm, "") {
		t.Errorf("thread %v", got)
	}
	p := chat.Post{Key: "answer/1", ReplyTo: o.in.Messages[0].Ref, Text: &chat.Text{Markdown: "hello"}}
	for _, look := range []bool{false, true} {
		if _, err := o.a.Post(t.Context(), thread(dm, ""), p, look); err != nil {
			t.Fatal(err)
		}
	}
	if msgs := o.fake.Messages(dm, ""); len(msgs) != 2 || msgs[1].Thread != "" {
		t.Errorf("the DM is %+v", msgs)
	}
}

// Messages from a time without an open socket are put once one is open.
func TestBackfill(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{}, nil)
	dm := o.fake.DM("U0ADA")
	root := o.fake.Say("U0ADA", general, "<@U0BOT> one")
	o.fake.Say("U0ADA", dm, "direct one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.stop()
	o.wait(func(s *fakeslack.Server) bool { return s.Sockets() == 0 })
	o.fake.Reply("U0BOB", general, root, "two")
	o.fake.Reply("U0BOB", general, root, "<@U0CLEO> for her")
	o.fake.Say("U0BOB", general, "<@U0BOT> three")
	o.fake.Say("U0ADA", dm, "direct two")
	o.fake.Say("U0CLEO", o.fake.DM("U0CLEO"), "a new conversation")
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) >= 7 })
	want := map[string]bool{"@cleo for her": true, "one": true, "two": true, "three": true, "direct one": true, "direct two": true, "a new conversation": true}
	got := map[string]bool{}
	for _, text := range o.in.Texts() {
		got[text] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A message before the look does not hide the gap, also if a first look fails.
func TestGapIsRemembered(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond}, nil)
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.stop()
	a, err := New(o.options())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.identify(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.Remember(t.Context())
	o.fake.Reply("U0BOB", general, th.Root, "in the gap")
	newer := o.fake.Reply("U0BOB", general, th.Root, "after it")
	o.in.Do(func() {
		o.in.Marks[0].Last.ID, o.in.Marks[0].Sent = newer, api.SentAt(newer)
	})
	a.Remember(t.Context())
	o.fake.Fail(fakeslack.Fault{Method: "conversations.replies", Error: "fatal_error"})
	if err := a.FindMessages(t.Context(), 0); err == nil {
		t.Error("the first look does not fail")
	}
	if err := a.FindMessages(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"hi", "in the gap", "after it"}, o.in.Texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// Reactions that were put on, or taken off, while the bot was away count;
// denials come first, and a second look tells nothing again.
func TestFoundReactions(t *testing.T) {
	t.Parallel()
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond}, nil)
	ts := o.fake.Say("U0ADA", general, "an approval")
	ref := api.RefOf(fakeslack.Team, general, ts)
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.stop()
	o.wait(func(s *fakeslack.Server) bool { return s.Sockets() == 0 })
	lost := o.fake.Lost()
	o.fake.React("U0BOB", general, ts, "white_check_mark")
	o.fake.React("U0CLEO", general, ts, "x")
	o.fake.React("U0CLEO", general, ts, "tada")
	o.wait(func(s *fakeslack.Server) bool { return s.Lost() == lost+3 }) // Slack has given up on these events
	o.in.Do(func() {
		o.in.Waiting = []chat.Pending{{
			Thread: thread(general, ts), Call: "1", Ref: ref, Approve: []string{"✅", "👍"}, Deny: []string{"❌"},
			Approved: []chat.Reaction{{On: ref, By: chat.User{ID: "U0ADA"}, Emoji: "👍"}},
		}}
	})
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 3 })
	want := []chat.Reaction{
		{On: ref, By: chat.User{ID: "U0CLEO"}, Emoji: "❌", Found: true},
		{On: ref, By: chat.User{ID: "U0ADA"}, Emoji: "👍", Found: true, Removed: true},
		{On: ref, By: chat.User{ID: "U0BOB"}, Emoji: "✅", Found: true},
	}
	if diff := cmp.Diff(want, o.in.Reactions); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	if err := o.a.FindVotes(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.in.Do(func() {
		if len(o.in.Reactions) != 3 {
			t.Errorf("a second look put %v", o.in.Reactions[3:])
		}
	})
}

// Messages of a gap, or of a second one soon after, don't wait for the votes on all
// waiting approvals; Slack allows a few a minute.
func TestMessagesBesideVotes(t *testing.T) {
	t.Parallel()
	o, th, _ := called(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond}, nil)
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.stop()
	o.fake.Reply("U0ADA", general, th.Root, "in the gap")
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.in.Do(func() {
		for range 40 {
			o.in.Waiting = append(o.in.Waiting, chat.Pending{Thread: th, Call: "1", Ref: api.InThread(th, th.Root), Approve: []string{"✅"}})
		}
	})
	hold := make(chan struct{})
	defer close(hold)
	o.fake.Fail(fakeslack.Fault{Method: "reactions.get", Hold: hold, Times: -1})
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.fake.RefuseSockets(1_000_000)
	o.fake.CutSockets(o.fake.Sockets())
	o.wait(func(s *fakeslack.Server) bool { return s.Sockets() == 0 })
	o.fake.Reply("U0ADA", general, th.Root, "in another gap")
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.fake.RefuseSockets(0)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
}

// After a gap all direct conversations are looked at, however many there are.
func TestManyDirectConversations(t *testing.T) {
	t.Parallel()
	quick := func(o *Options) { o.Pace = 10_000 }
	o := open(t, fakeslack.Options{AckTimeout: 20 * time.Millisecond, NoLimits: true}, quick)
	o.fake.Say("U0ADA", o.fake.DM("U0ADA"), "before")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.stop()
	for i := range 250 {
		id := fmt.Sprintf("U9%03d", i)
		o.fake.AddUser(fakeslack.User{ID: id, Name: id})
		o.fake.DM(id)
	}
	o.fake.Say("U9249", o.fake.DM("U9249"), "in the gap")
	o.wait(func(s *fakeslack.Server) bool { return s.Unacked() == 0 })
	o.run(quick)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
}

// A budget is Slack's published one, or the file's.
func TestBudget(t *testing.T) {
	limits := map[string]int{"chat.update": 100, "chat.postMessage": 600}
	for bucket, want := range map[string][2]int{ // a minute, at once
		"chat.update": {100, 40}, "reactions.add": {50, 20}, "users.info": {100, 100}, "conversations.history": {50, 50}, "chat.postMessage C1": {600, 30},
		"chat.postMessage": {600, 40}, "assistant.threads.setStatus D1": {60, 30}, "agents.sessions.setStatus": {50, 40}, "unheard.of": {100, 40},
	} {
		if b := api.Budget(bucket, limits, 1); b.Most != want[0] || b.Burst != want[1] || b.Span != time.Minute {
			t.Errorf("%s: %+v, want %v", bucket, b, want)
		}
	}
}

// A socket that says nothing any more is replaced, and so is one that never
// says hello; what was missed meanwhile arrives.
func TestDeadSockets(t *testing.T) {
	t.Parallel()
	reconnected := make(chan struct{}, 100)
	o := open(t, fakeslack.Options{PingEvery: 20 * time.Millisecond, AckTimeout: 10 * time.Millisecond}, func(o *Options) {
		o.PingInterval = 200 * time.Millisecond
		o.Observe.Reconnected = func() { reconnected <- struct{}{} }
	})
	dm := o.fake.DM("U0ADA")
	o.fake.Say("U0ADA", dm, "before")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.fake.FreezeSockets(2)
	o.fake.Say("U0ADA", dm, "meanwhile")
	<-reconnected
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.fake.CutSockets(2)
	<-reconnected
	o.wait(func(s *fakeslack.Server) bool { return s.Sockets() == 2 })
	o.fake.Disconnect(1, "refresh_requested")
	o.fake.Say("U0ADA", dm, "during a refresh")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
}

// A socket that Slack asks to be replaced is no death: nothing is looked for, and
// the log says why it was, as it does for reasons that are the operator's.
func TestDisconnects(t *testing.T) {
	t.Parallel()
	var logs lines
	o := open(t, fakeslack.Options{}, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&logs, nil)) })
	o.wait(func(s *fakeslack.Server) bool { return len(s.Calls("users.conversations")) <= 1 })
	o.fake.Disconnect(1, "too_many_websockets")
	o.wait(func(s *fakeslack.Server) bool { return len(s.Calls("apps.connections.open")) == 3 && s.Sockets() >= 2 })
	if !strings.Contains(logs.String(), "the app has ten already") {
		t.Errorf("the log does not say it:\n%s", logs.String())
	}
	for n, reason := range []string{"refresh_requested", "warning"} {
		o.fake.Disconnect(1, reason)
		o.wait(func(s *fakeslack.Server) bool {
			return len(s.Calls("apps.connections.open")) == 4+n && s.Sockets() >= 2
		})
		if !strings.Contains(logs.String(), "reason="+reason) {
			t.Errorf("the log does not say %s:\n%s", reason, logs.String())
		}
	}
	if !strings.Contains(logs.String(), "connections=2") || strings.Contains(logs.String(), "WARN msg=\"socket replaced\" socket=0 error=\"websocket") {
		t.Errorf("the log says:\n%s", logs.String())
	}
	dm := o.fake.DM("U0ADA")
	o.fake.Say("U0ADA", dm, "after all that")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
}

// lines collects what is logged.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestBadToken(t *testing.T) {
	f := fakeslack.Start(t, fakeslack.Options{Lenient: true})
	for _, tt := range []struct{ app, bot string }{{f.AppToken(), "xoxb-wrong"}, {"xapp-wrong", f.BotToken()}} {
		a, err := New(Options{AppToken: tt.app, BotToken: tt.bot, APIURL: f.APIURL(), Common: front.Common{Inbox: ledger.New()}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), ledger.Longest)
		defer cancel()
		if err := a.Run(ctx); err == nil || !strings.Contains(err.Error(), "invalid_auth") {
			t.Errorf("Run with %s, %s: %v", tt.app, tt.bot, err)
		}
	}
}
