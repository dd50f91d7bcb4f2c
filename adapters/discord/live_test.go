package discord

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/intake"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

const (
	postRoute   = "POST /channels/{channel}/messages"
	threadRoute = "POST /channels/{channel}/messages/{message}/threads"
)

// A message in a DM goes into the inbox, and the answer comes back there.
func TestDirect(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	id := o.fake.Say(o.ada, dm, "what is Go?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	want := ledger.Put{Thread: direct(dm), Message: chat.Message{
		Ref: api.RefOf(api.Place{Channel: dm}, id), From: chat.User{ID: chat.UserID(o.ada), Name: "Ada"}, Text: "what is Go?", Sent: api.SentAt(id),
	}}
	if diff := cmp.Diff(want, o.in.Messages[0]); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	p := answer("answer/1", "A **language**.")
	p.ReplyTo = want.Ref
	ref := o.post(direct(dm), p, false)
	posts := o.fake.Posts(dm)
	if len(posts) != 1 || posts[0].ID != ref.ID || posts[0].Content != "A **language**." || posts[0].ReplyTo != id {
		t.Errorf("the DM is %+v", posts)
	}
}

// A mention in a channel opens one thread, named after the question, and the
// answer comes in it; whatever the model writes, nobody is pinged.
func TestMention(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" why is *prod* down?\nIt was up.")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	th := thread(o.general, id)
	if m := o.in.Messages[0]; m.Thread != th || m.Text != "why is *prod* down?\nIt was up." || m.Ref != api.RefOf(api.PlaceOf(th), id) {
		t.Errorf("message %+v", m)
	}
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
	p := answer("answer/1", "It is up. @everyone <@"+o.ada+"> <@&"+o.guild+">")
	p.ReplyTo = api.RefOf(api.PlaceOf(th), id)
	ref := o.post(th, p, false)
	if got := o.fake.Threads(o.general); len(got) != 1 || got[0].ID != id || got[0].Name != "why is prod down?" {
		t.Errorf("threads %+v", got)
	}
	posts := o.fake.Posts(id)
	if len(posts) != 1 || posts[0].ID != ref.ID || !strings.HasPrefix(posts[0].Content, "It is up.") {
		t.Errorf("the thread is %+v", posts)
	}
	if pings := append(o.fake.Pings(id), o.fake.Pings(o.general)...); len(pings) > 0 {
		t.Errorf("it pinged %q", pings)
	}
	o.fake.Say(o.bob, id, "and "+o.mention()+" now?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 && o.in.Messages[1].Thread == th })
	if got := o.in.Texts()[1]; got != "and @nod now?" {
		t.Errorf("text %q", got)
	}
}

// A thread that can't be made just now is made with the next try, and the conversation
// stays out of the channel.
func TestThreadLater(t *testing.T) {
	t.Parallel()
	for _, code := range []int{20029, 130000} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			o := open(t, fakediscord.Options{}, nil)
			o.fake.Inject(fakediscord.Fault{Route: threadRoute, Status: http.StatusBadRequest, Code: code, Times: 2})
			id := o.fake.Say(o.ada, o.general, o.mention()+" why?")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			th := o.in.Messages[0].Thread
			var err error
			for range 3 { // the first may be that with which the conversation begins
				if _, err = o.a.Post(t.Context(), th, answer("answer/1", "So."), false); err == nil {
					break
				}
			}
			if got := o.fake.Threads(o.general); err != nil || len(got) != 1 || len(o.fake.Posts(id)) != 1 {
				t.Errorf("%v, threads %+v, in it %+v", err, got, o.fake.Posts(id))
			}
		})
	}
}

// Where a thread can't be made, everything answers the message in the channel:
// reactions and replies there belong to the same conversation.
func TestChain(t *testing.T) {
	t.Parallel()
	for name, forbid := range map[string]func(o *office) fakediscord.Options{
		"not allowed": nil,
		"too many":    func(*office) fakediscord.Options { return fakediscord.Options{ActiveThreads: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f fakediscord.Options
			if forbid != nil {
				f = forbid(nil)
			}
			o := open(t, f, nil)
			if forbid == nil {
				o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.CreatePublicThreads)
			} else {
				o.fake.OpenThread(o.bob, o.general, "", "the only one")
			}
			id := o.fake.Say(o.ada, o.general, o.mention()+" deploy")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			th := thread(o.general, id)
			ref := o.post(th, answer("answer/1", "deployed"), false)
			posts := o.fake.Posts(o.general)
			if len(posts) != 1 || posts[0].ReplyTo != id || ref.Channel != th.Channel {
				t.Fatalf("the channel is %+v, ref %v", posts, ref)
			}
			o.post(th, answer("answer/2", "all of it"), false)
			if n := len(o.fake.Calls(threadRoute)); n != 1 {
				t.Errorf("it asked for a thread %d times", n)
			}
			o.fake.React(o.ada, ref.ID, "👍")
			o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 && o.in.Reactions[0].On == ref })
			reply := o.fake.Say(o.bob, o.general, "and web?", fakediscord.With{ReplyTo: ref.ID})
			o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
			if m := o.in.Messages[1]; m.Thread != th || m.Ref.ID != reply || len(m.Quoted) != 1 {
				t.Errorf("reply %+v", m)
			}
			o.stop()
			o.run(nil) // another process finds out the same
			o.fake.React(o.bob, ref.ID, "👍")
			o.in.Await(t, func() bool { return len(o.in.Reactions) == 2 && o.in.Reactions[1].On == ref })
			if err := o.a.Edit(t.Context(), th, ref, answer("answer/1", "deployed!")); err != nil {
				t.Fatal(err)
			}
			if got := o.fake.Message(ref.ID).Content; got != "deployed!" {
				t.Errorf("edited to %q", got)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	t.Parallel()
	content := fakediscord.Options{Privileged: fakediscord.IntentMessageContent}
	follow := func(o *Options) { o.Follow = "thread" }
	tests := []struct {
		name    string
		fake    fakediscord.Options
		change  func(*Options)
		act     func(o *office, thread string)
		standin chat.Standing
		want    []string
	}{
		{"no mention", content, follow, func(o *office, _ string) { o.fake.Say(o.ada, o.general, "hello") }, chat.Standing{}, nil},
		{"followed", content, follow, func(o *office, th string) { o.fake.Say(o.bob, th, "and now?") }, chat.Standing{Known: true}, []string{"and now?"}},
		{"unknown thread", content, follow, func(o *office, th string) { o.fake.Say(o.bob, th, "and now?") }, chat.Standing{}, nil},
		{"mentions only others", content, follow, func(o *office, th string) { o.fake.Say(o.bob, th, "<@"+o.cleo+"> look") }, chat.Standing{Known: true}, []string{"aside: @cleo look"}},
		{"mentions others too", content, follow, func(o *office, th string) { o.fake.Say(o.bob, th, "<@"+o.cleo+"> and "+o.mention()+" look") }, chat.Standing{Known: true}, []string{"@cleo and @nod look"}},
		{"not followed", content, nil, func(o *office, th string) { o.fake.Say(o.bob, th, "and now?") }, chat.Standing{Known: true}, nil},
		{"called into a thread", fakediscord.Options{}, nil, func(o *office, th string) { o.fake.Say(o.bob, th, o.mention()+" why?") }, chat.Standing{}, []string{"why?"}},
		{"stop in a mention", fakediscord.Options{}, nil, func(o *office, th string) { o.fake.Say(o.bob, th, o.mention()+" stop") }, chat.Standing{Known: true}, []string{"stop"}},
		{"stop", content, follow, func(o *office, th string) { o.fake.Say(o.bob, th, " Stop ") }, chat.Standing{Known: true, Running: true}, []string{"Stop"}},
		{"its role", content, follow, func(o *office, _ string) {
			o.fake.Say(o.ada, o.general, "<@&"+o.fake.BotRole(o.guild)+"> why, <@&"+o.fake.BotRole(o.guild)+">? <@&"+o.fake.BotRole(o.guild)+">")
		}, chat.Standing{}, []string{"why, @nod?"}},
		{"its role, without the text", fakediscord.Options{}, nil, func(o *office, th string) {
			o.fake.Say(o.ada, th, "<@&"+o.fake.BotRole(o.guild)+"> why?")
		}, chat.Standing{Known: true}, nil},
		{"another role", content, follow, func(o *office, th string) {
			o.fake.Say(o.ada, th, "<@&"+o.fake.AddRole(o.guild, "nod", 0)+"> why?")
		}, chat.Standing{Known: true}, []string{"aside: @nod why?"}},
		{"a bot in the thread", content, nil, func(o *office, th string) {
			o.fake.Say(o.fake.AddBot("ci"), th, o.mention()+" stop: build 512 failed")
		}, chat.Standing{Known: true, Running: true}, []string{"outside: stop: build 512 failed"}},
		{"a bot's answer to a command in the thread", content, follow, func(o *office, th string) {
			o.fake.Say(o.fake.AddBot("ci"), th, "build 512 failed", fakediscord.With{Command: true})
		}, chat.Standing{Known: true, Running: true}, []string{"outside: build 512 failed"}},
		{"a bot's later answer to a command", content, follow, func(o *office, th string) {
			o.fake.Edit(o.fake.Say(o.fake.AddBot("ci"), th, "", fakediscord.With{Command: true}), "build 513 failed")
		}, chat.Standing{Known: true, Running: true}, []string{"outside: build 513 failed"}},
		{"a webhook in the thread", content, follow, func(o *office, th string) {
			o.fake.Say(o.ada, th, "stop", fakediscord.With{Hook: "ci"})
		}, chat.Standing{Known: true, Running: true}, []string{"outside: stop"}},
		{"a bot", fakediscord.Options{}, nil, func(o *office, _ string) {
			o.fake.Say(o.fake.AddBot("other"), o.general, o.mention()+" hi")
		}, chat.Standing{}, nil},
		{"a webhook", fakediscord.Options{}, nil, func(o *office, _ string) {
			o.fake.Say(o.ada, o.general, o.mention()+" hi", fakediscord.With{Hook: "ci"})
		}, chat.Standing{}, nil},
		{"everyone", content, nil, func(o *office, _ string) { o.fake.Say(o.ada, o.general, "@everyone hi") }, chat.Standing{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := open(t, tt.fake, tt.change)
			root := o.fake.Say(o.ada, o.general, "the root")
			th := o.fake.OpenThread(o.ada, o.general, root, "a thread")
			o.in.Do(func() { o.in.Threads[thread(o.general, th)] = tt.standin })
			tt.act(o, th)
			o.fake.Say(o.cleo, o.fake.DM(o.cleo), "the end")
			o.in.Await(t, func() bool { return len(o.in.Messages) >= len(tt.want)+1 })
			o.stop()
			var got []string
			for _, m := range o.in.Messages {
				switch {
				case m.Text == "the end":
				case m.Outside:
					got = append(got, "outside: "+m.Text)
				case m.Aside:
					got = append(got, "aside: "+m.Text)
				default:
					got = append(got, m.Text)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// In a thread that the bot is in, the words of somebody who is not heard are content from
// outside, whatever they say.
func TestOutsider(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent})
	o.run(func(opt *Options) { opt.Allow = []string{"user:" + o.cleo} })
	th := o.fake.OpenThread(o.ada, o.general, "", "a thread")
	o.in.Do(func() { o.in.Threads[thread(o.general, th)] = chat.Standing{Known: true, Running: true} })
	o.fake.Say(o.bob, o.general, o.mention()+" not for the bot")
	o.fake.Say(o.bob, th, o.mention()+" stop")
	o.end(1)
	o.stop()
	for _, m := range o.in.Messages {
		if m.Text != "the end" && (m.Text != "stop" || !m.Outside || !m.Aside) {
			t.Errorf("it heard %+v", m)
		}
	}
}

func TestAllowedBots(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	other := o.fake.AddBot("ci")
	o.run(func(opt *Options) { opt.AllowBots = []string{other} })
	o.fake.Say(other, o.general, o.mention()+" the build is red")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 && o.in.Messages[0].From.Bot })
}

func TestEditsAndDeletions(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" frist")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.fake.Edit(id, o.mention()+" first")
	ref := api.RefOf(api.Place{Channel: o.general, Thread: id}, id)
	o.in.Await(t, func() bool { return o.in.Edits[ref] == "first" })
	hidden := o.fake.Say(o.ada, o.general, "nothing for the bot")
	o.fake.Edit(hidden, "still nothing")
	o.fake.Delete(id)
	o.in.Await(t, func() bool { return len(o.in.Deletions) == 1 && o.in.Deletions[0] == ref })
	if len(o.in.Edits) != 1 {
		t.Errorf("edits %v", o.in.Edits)
	}
}

func TestReactions(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" hi")
	ref := api.RefOf(api.Place{Channel: o.general, Thread: id}, id)
	ada := chat.User{ID: chat.UserID(o.ada), Name: "Ada"}
	bare := chat.User{ID: ada.ID}
	acts := []struct {
		do   func()
		want chat.Reaction
	}{
		{func() { o.fake.React(o.ada, id, "👍🏽") }, chat.Reaction{On: ref, By: ada, Emoji: "👍"}},
		{func() { o.fake.Unreact(o.ada, id, "👍🏽") }, chat.Reaction{On: ref, By: bare, Emoji: "👍", Removed: true}},
		{func() { o.fake.React(o.ada, id, "👍🏽") }, chat.Reaction{On: ref, By: ada, Emoji: "👍"}},
		{func() { o.fake.Burst(o.ada, id, "✅") }, chat.Reaction{On: ref, By: ada, Emoji: "✅"}},
		{func() { o.fake.React(o.ada, id, "white_check_mark:123456") }, chat.Reaction{On: ref, By: ada, Emoji: "white_check_mark:123456"}},
	}
	for i, act := range acts {
		act.do()
		o.in.Await(t, func() bool { return len(o.in.Reactions) == i+1 })
		if diff := cmp.Diff(act.want, o.in.Reactions[i]); diff != "" {
			t.Errorf("reaction %d (-want +got):\n%s", i, diff)
		}
	}
	dm := o.fake.DM(o.bob)
	there := o.fake.Say(o.bob, dm, "hi")
	o.fake.React(o.bob, there, "🛑")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == len(acts)+1 })
	if got := o.in.Reactions[len(acts)]; got.On != api.RefOf(api.Place{Channel: dm}, there) || got.Emoji != chat.EmojiStop {
		t.Errorf("reaction in a DM: %+v", got)
	}
}

// An event that can't be put is tried again until it can.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.in.Do(func() { o.in.Fail = errors.New("down") })
	id := o.fake.Say(o.ada, o.fake.DM(o.ada), "hi")
	tries := 0
	o.in.Await(t, func() bool { tries++; return tries > 3 })
	o.in.Do(func() { o.in.Fail = nil })
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 && o.in.Messages[0].Ref.ID == id })
}

func TestMalformedEvents(t *testing.T) {
	t.Parallel()
	n := make(chan struct{}, 100)
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Observe.Malformed = func() { n <- struct{}{} } })
	dm := o.fake.DM(o.ada)
	for _, where := range []string{dm, o.general} {
		o.fake.Malformed(where)
	}
	o.fake.Say(o.ada, dm, "kept")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	<-n
	if got := o.in.Texts(); got[0] != "kept" {
		t.Errorf("messages %q", got)
	}
	if got := o.fake.Gateway(); got.Connects != 1 {
		t.Errorf("the connection did not last: %+v", got)
	}
}

func TestDuplicates(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.Duplicate(10)
	id := o.fake.Say(o.ada, o.general, o.mention()+" once")
	o.fake.React(o.ada, id, "👍")
	// A repeat of a reaction that comes seconds later is another event, and changes nothing.
	o.in.Await(t, func() bool { return len(o.in.Reactions) > 0 && o.in.Repeats+len(o.in.Reactions)-1 >= 2 })
	if len(o.in.Messages) != 1 || slices.ContainsFunc(o.in.Reactions, func(r chat.Reaction) bool { return r != o.in.Reactions[0] }) {
		t.Errorf("%d messages, %+v", len(o.in.Messages), o.in.Reactions)
	}
}

// Called into a thread, it gets what was said there, but nothing from before
// the horizon.
func TestQuoted(t *testing.T) {
	t.Parallel()
	var ms atomic.Int64
	o := open(t, fakediscord.Options{
		Privileged: fakediscord.IntentMessageContent,
		Now:        func() time.Time { return time.UnixMilli(1_800_000_000_000 + ms.Add(1)) }, // no two messages in the same
	}, func(o *Options) { o.Follow = "thread" })
	root := o.fake.Say(o.ada, o.general, "old secret")
	th := o.fake.OpenThread(o.ada, o.general, root, "incident")
	last := o.fake.Say(o.bob, th, "the last that was forgotten")
	o.fake.Say(o.fake.Bot(), th, "Forgotten. I remember nothing of what was said here before.") // its own words are no quote
	o.fake.Say(o.cleo, th, "prod is down", fakediscord.With{Sticker: "fire", Files: []fakediscord.File{{Name: "error.log", Data: []byte("panic")}}})
	ci := o.fake.AddBot("ci")
	o.fake.Say(ci, th, "build 512 failed", fakediscord.With{Command: true})
	o.in.Do(func() { o.in.Threads[thread(o.general, th)] = chat.Standing{Horizon: api.SentAt(last)} })
	o.fake.Say(o.ada, th, o.mention()+" why?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	cleo := chat.User{ID: chat.UserID(o.cleo), Name: "cleo"}
	want := []chat.Quote{{From: cleo, Text: "prod is down\n[sticker: fire]"}, {From: cleo, Text: "[attached: error.log]"}, {From: chat.User{ID: chat.UserID(ci), Name: "ci", Bot: true}, Text: "build 512 failed"}}
	if diff := cmp.Diff(want, o.in.Messages[0].Quoted, cmpopts.IgnoreFields(chat.Quote{}, "Ref")); diff != "" {
		t.Errorf("quoted (-want +got):\n%s", diff)
	}
	if o.in.Messages[0].Quoted[0].Ref.IsZero() {
		t.Error("a quote does not name its message")
	}
	if f := o.in.Messages[0].Files; len(f) != 1 || f[0].Text != "panic" {
		t.Errorf("files %+v", f)
	}
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.Say(o.ada, o.fake.DM(o.ada), "look", fakediscord.With{Files: []fakediscord.File{
		{Name: "notes.txt", Data: []byte("alpha\n" + strings.Repeat("x", 20_000))},
		{Name: "pic.png", Type: "image/png", Data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00")},
		{Name: "big.png", Type: "image/png", Data: make([]byte, intake.MostImage+1)},
		{Name: "a.zip", Type: "application/zip", Data: []byte("PK")},
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

// A token that was reset ends the service, which nothing else would.
func TestTokenReset(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	a, err := New(o.options())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- a.Run(t.Context()) }()
	o.a = a
	o.ready()
	o.fake.ResetToken()
	if err := a.React(t.Context(), api.RefOf(api.Place{Channel: o.fake.DM(o.ada)}, "123"), "✅"); err == nil {
		t.Error("it reacted")
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "copy discord.token again") {
		t.Errorf("it ended with %v", err)
	}
}
