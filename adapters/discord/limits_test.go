package discord

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"nod/chat"
	"nod/chat/outbox"
	"nod/internal/fakediscord"
)

// What stands before Discord may refuse for an hour. That long it is asked nothing:
// each try more would count against the bot's address.
func TestLongBan(t *testing.T) {
	for after, want := range map[string]time.Duration{"3600": time.Hour, "100000": longestBan} {
		var got *outbox.RetryAfter
		err := request{method: "GET", path: "/users/@me"}.limited(http.Header{"Retry-After": {after}}, []byte("<html>error 1015</html>"))
		if !errors.As(err, &got) || got.Bucket != outbox.Everything || got.After != want {
			t.Errorf("banned for %s s: %+v", after, got)
		}
	}
}

// A bot that was refused nearly as often as Discord puts up with asks nothing for a
// while.
func TestPauseBeforeTheBan(t *testing.T) {
	t.Parallel()
	paused := make(chan string, 10)
	o := open(t, fakediscord.Options{}, func(o *Options) {
		o.Observe.Limited = func(bucket string) { paused <- bucket }
	})
	refuse := func() {
		o.fake.Inject(fakediscord.Fault{Route: postRoute, Status: http.StatusForbidden, Code: 50001})
		th := direct(o.fake.DM(o.ada))
		if _, err := o.a.Post(t.Context(), th, answer("a", "hello"), false); !errors.Is(err, chat.ErrGone) {
			t.Fatal(err)
		}
	}
	refuse()
	if len(paused) > 0 {
		t.Fatalf("one refusal closes %q", <-paused)
	}
	o.a.rest.bad.mu.Lock()
	o.a.rest.bad.n = mostInvalid - 1
	o.a.rest.bad.mu.Unlock()
	refuse()
	if len(paused) != 1 || <-paused != outbox.Everything {
		t.Error("it goes on asking")
	}
}

// A command in a thread that nod has not heard of is understood by what comes with
// it: to ask Discord first may take longer than whoever gave it is made to wait.
func TestCommandBringsItsChannel(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	in := interaction{GuildID: o.guild, ChannelID: "4711", Channel: &channel{ID: "4711", Type: publicThread, ParentID: o.general}}
	before := len(o.fake.Calls(""))
	p, ok, err := o.a.spoken(t.Context(), in)
	if err != nil || !ok || p != (place{o.general, "4711"}) {
		t.Errorf("spoken in %v, %t, %v", p, ok, err)
	}
	in.Channel = &channel{ID: "4712"}
	if _, ok, err = o.a.spoken(t.Context(), in); err != nil || ok {
		t.Errorf("a channel is taken for a conversation: %v", err)
	}
	if n := len(o.fake.Calls("")) - before; n != 0 {
		t.Errorf("it asked Discord %d times", n)
	}
}

// Reactions on what is none of nod's are not remembered, and so push nothing out: a
// look that began before a vote was heard does not bring it back, however much goes on
// elsewhere.
func TestStrangersReactionsPushNothingOut(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Now = func() time.Time { return now } })
	dm := direct(o.fake.DM(o.ada))
	ref := o.post(dm, chat.Post{Key: "p", Approval: asking("{}")}, false)
	o.fake.React(o.ada, ref.ID, "✅")
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	stranger := reaction{UserID: o.bob, ChannelID: o.general, MessageID: o.fake.Say(o.bob, o.general, "lunch?"), GuildID: o.guild, AuthorID: o.bob}
	for i := range 25_000 {
		stranger.UserID = fmt.Sprint(i + 1)
		if err := o.a.reacted(t.Context(), flip{reaction: stranger, id: stranger.UserID}, false); !errors.Is(err, errNotOurs) {
			t.Fatal(err)
		}
	}
	look := chat.Pending{Thread: dm, Call: asking("{}").Call, Ref: ref, Approve: []string{"✅"}, Deny: []string{"❌"}}
	o.in.Do(func() { o.in.Waiting = []chat.Pending{look} })
	if err := o.a.Recount(t.Context(), func(r chat.MessageRef) bool { return r == ref }); err != nil {
		t.Fatal(err)
	}
	o.in.Do(func() {
		if len(o.in.Reactions) != 1 {
			t.Errorf("it was put again: %+v", o.in.Reactions)
		}
	})
}

// After a session was gone on with, what a channel is is asked for once.
func TestChannelsAreAskedForOnce(t *testing.T) {
	t.Parallel()
	const channelRoute = "GET /channels/{channel}"
	o := open(t, fakediscord.Options{}, nil) // nobody says anything, so nothing else asks
	o.in.Await(t, func() bool { return len(o.in.Notes) == 1 })
	o.stop()
	o.run(nil)
	before := len(o.fake.Calls(channelRoute))
	for range 3 {
		if c, err := o.a.channel(t.Context(), o.general); err != nil || c.GuildID != o.guild {
			t.Fatalf("%+v, %v", c, err)
		}
		if name := o.a.channelName(o.general); name != "general" {
			t.Errorf("it is called %q", name)
		}
	}
	if g := o.fake.Gateway(); g.Resumes != 1 {
		t.Fatalf("%+v", g)
	}
	if n := len(o.fake.Calls(channelRoute)) - before; n > 1 {
		t.Errorf("it was asked for %d times", n)
	}
}
