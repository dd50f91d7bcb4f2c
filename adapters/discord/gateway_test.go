package discord

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// The Gateway fails in every way that it can: what is written meanwhile
// arrives, once, and the session is kept where that is possible.
func TestGatewayFaults(t *testing.T) {
	t.Parallel()
	tests := []faultCase{
		{"cut", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Cut() }, true, 0},
		{"reconnect", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Reconnect() }, true, 4000},
		{"invalid, resumable", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Invalidate(true) }, true, 4000},
		{"invalid", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Invalidate(false) }, false, 4000},
		{"unknown error", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Close(4000, "Unknown error.") }, true, 0},
		{"session timed out", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Close(4009, "Session timed out.") }, false, 0},
		{"going away", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Close(1001, "Going away.") }, true, 0},
		{"closed as if all were well", fakediscord.Options{}, func(_ *office, c *fakediscord.Connection) { c.Close(1000, "") }, true, 0},
		{"start a new session", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) {
			o.fake.RefuseResumes(4007)
			c.Cut()
		}, false, 0},
		{"not authenticated any more", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) {
			o.fake.RefuseResumes(4003)
			c.Cut()
		}, false, 0},
		{"resumes fail", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) {
			o.fake.RefuseResumes(4000)
			c.Cut()
		}, false, 0},
		{"resumes are not answered", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) {
			o.fake.IgnoreResumes(true)
			c.Cut()
		}, false, 0},
		{"asked to connect again before hello", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) {
			o.fake.ReconnectFirst(3)
			c.Cut()
		}, true, 0},
		{"session forgotten", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) { o.fake.ForgetSessions(); c.Cut() }, false, 0},
		{"no acks", fakediscord.Options{Heartbeat: 200 * time.Millisecond}, func(_ *office, c *fakediscord.Connection) { c.StopAcks() }, true, 4000},
		{"frozen", fakediscord.Options{Heartbeat: 200 * time.Millisecond}, func(_ *office, c *fakediscord.Connection) { c.Freeze() }, true, 0},
		{"handshake fails", fakediscord.Options{}, func(o *office, c *fakediscord.Connection) {
			o.fake.Inject(fakediscord.Fault{Route: fakediscord.GatewayRoute, Times: 2, Status: 503})
			c.Cut()
		}, true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := open(t, tt.fake, func(o *Options) {
				if tt.name == "resumes are not answered" {
					o.Greet = 20 * time.Millisecond
				}
			})
			dm := o.fake.DM(o.ada)
			o.fake.Say(o.ada, dm, "before")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
			before := o.fake.Gateway()
			tt.fail(o, o.fake.Connections()[0])
			o.fake.Say(o.ada, dm, "meanwhile")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
			o.wait(func(s *fakediscord.Server) bool {
				return s.Gateway().Connects > before.Connects && len(s.Connections()) > 0
			})
			o.fake.Say(o.ada, dm, "after")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
			if got := strings.Join(o.in.Texts(), " "); got != "before meanwhile after" {
				t.Errorf("messages %q", got)
			}
			now := o.fake.Gateway()
			if resumed := now.Resumes > before.Resumes; resumed != tt.resumed {
				t.Errorf("resumed %v, want %v: %+v", resumed, tt.resumed, now)
			}
			if tt.resumed && tt.name != "handshake fails" && now.ByResume == 0 {
				t.Errorf("it did not use the address for resuming: %+v", now)
			}
			took := now.Connects - before.Connects
			if slices.Contains(straight, tt.name) && took != 1 || slices.Contains(refusedOnce, tt.name) && took != 2 {
				t.Errorf("it took %d connections", took)
			}
			if tt.code != 0 {
				o.wait(func(s *fakediscord.Server) bool { return slices.Contains(s.Gateway().Closes, tt.code) })
			}
			if now.Blind > 0 {
				t.Errorf("%d heartbeats did not say what came last", now.Blind)
			}
			if slices.Contains(now.Closes, 1000) {
				t.Errorf("it gave the session up: %v", now.Closes)
			}
		})
	}
}

// faultCase is a way in which the Gateway fails.
type faultCase struct {
	name    string
	fake    fakediscord.Options
	fail    func(o *office, c *fakediscord.Connection)
	resumed bool
	code    int // with which this side closes; 0: it does not
}

// straight are failures after which the session is known to be over or to go on, so
// that the next connection has one.
var straight = []string{
	"cut", "reconnect", "invalid, resumable", "invalid", "unknown error", "session timed out", "going away", "closed as if all were well",
}

// refusedOnce are those in which it takes a resume to learn that it is over.
var refusedOnce = []string{"start a new session", "not authenticated any more", "session forgotten"}

// A close code that no reconnection mends ends Run, with a word on the remedy.
func TestFatal(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]string{
		4004: "token", 4010: "shards", 4011: "recommends no more", 4012: "version", 4013: "intents", 4014: "Message Content Intent",
	} {
		o := build(t, fakediscord.Options{})
		a, err := New(o.options())
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- a.Run(t.Context()) }()
		o.wait(func(s *fakediscord.Server) bool { return len(s.Connections()) == 1 })
		o.fake.Connections()[0].Close(code, "No.")
		if err := <-ended; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("close %d: %v", code, err)
		}
		if a.Ready() {
			t.Errorf("close %d: it is ready", code)
		}
	}
}

// A bot in more guilds than its shards may have goes on with more of them.
func TestReshard(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.fake.Recommend(3)
	o.fake.Connections()[0].Close(4011, "Sharding required.")
	o.wait(func(s *fakediscord.Server) bool { return len(s.Connections()) == 3 })
	o.ready()
	o.fake.Say(o.ada, o.fake.DM(o.ada), "hi")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"token":  func(o *Options) { o.Token = "wrong" },
		"intent": func(o *Options) { o.Follow = "thread" },
	} {
		o := build(t, fakediscord.Options{})
		opt := o.options()
		change(&opt)
		a, err := New(opt)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Run(t.Context()); err == nil || strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// It asks for no intent that it doesn't use.
func TestIntents(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	want := fakediscord.IntentGuilds | fakediscord.IntentGuildMessages | fakediscord.IntentGuildReactions |
		fakediscord.IntentDirectMessages | fakediscord.IntentDirectReactions
	if got := o.fake.Connections()[0].State().Intents; got != want {
		t.Errorf("intents %b, want %b", got, want)
	}
}

// Every guild is heard by its shard, and DMs by the first.
func TestShards(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{Shards: 3})
	channels := []string{o.general}
	for range 5 {
		channels = append(channels, o.fake.AddChannel(o.fake.AddGuild("more", o.ada), "general"))
	}
	o.run(nil)
	for _, c := range channels {
		o.fake.Say(o.ada, c, o.mention()+" hi")
	}
	o.fake.Say(o.ada, o.fake.DM(o.ada), "hi")
	o.in.Await(t, func() bool { return len(o.in.Messages) == len(channels)+1 })
	shards := map[int]bool{}
	for _, c := range o.fake.Connections() {
		shards[c.State().Shard[0]] = c.State().Shard[1] == 3
	}
	if len(shards) != 3 || o.fake.Gateway().Refused != 0 {
		t.Errorf("shards %v, %+v", shards, o.fake.Gateway())
	}
}

// Two sessions of one shard hear everything twice; it counts once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	first := o.stop
	o.run(o.beside)
	id := o.fake.Say(o.ada, o.general, o.mention()+" hi")
	o.fake.React(o.ada, id, "👍")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 && o.in.Repeats >= 2 })
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
	first()
	if len(o.in.Messages) != 1 || len(o.in.Reactions) != 1 {
		t.Errorf("%d messages, %d reactions", len(o.in.Messages), len(o.in.Reactions))
	}
}

// Messages from before the session are put, and those that were never for the bot are
// not.
func TestBackfill(t *testing.T) {
	t.Parallel()
	content := fakediscord.Options{Privileged: fakediscord.IntentMessageContent}
	o := open(t, content, func(o *Options) { o.Follow = "thread" })
	dm, quiet := o.fake.DM(o.ada), o.fake.AddChannel(o.guild, "quiet")
	root := o.fake.Say(o.ada, o.general, o.mention()+" one")
	o.fake.Say(o.ada, dm, "direct one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
	late := o.fake.Say(o.ada, o.general, "not for the bot")
	o.stop()
	o.fake.ForgetSessions() // else it would simply go on
	o.fake.Say(o.bob, root, "two")
	o.fake.Say(o.bob, root, "<@"+o.cleo+"> for her")
	o.fake.Say(o.bob, o.general, o.mention()+" three")
	o.fake.Say(o.bob, o.general, "not for the bot either")
	o.fake.Say(o.bob, quiet, o.mention()+" four")
	o.fake.Say(o.ada, dm, "direct two")
	o.fake.Edit(late, o.mention()+" an edit opens no turn")
	o.in.Do(func() { // what was forgotten meanwhile doesn't come back
		forgotten := o.fake.DM(o.bob)
		o.in.Threads[direct(forgotten)] = chat.Standing{Known: true, Horizon: api.SentAt(o.fake.Say(o.bob, forgotten, "forget this"))}
		o.in.Marks = append(o.in.Marks, chat.Watermark{Thread: direct(forgotten), Last: api.RefOf(api.Place{Channel: forgotten}, root), Sent: api.SentAt(root)})
	})
	o.run(func(o *Options) { o.Follow = "thread" })
	o.in.Await(t, func() bool { return len(o.in.Messages) >= 7 })
	o.fake.Say(o.cleo, o.fake.DM(o.cleo), "the end")
	o.in.Await(t, func() bool {
		return slices.ContainsFunc(o.in.Messages, func(p ledger.Put) bool { return p.Text == "the end" })
	})
	got := slices.Sorted(slices.Values(o.in.Texts()))
	want := []string{"@cleo for her", "direct one", "direct two", "four", "one", "the end", "three", "two"}
	if !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
}

// A message that was edited during a gap is put once, with its present text. Handled
// messages are not put again, however often the bot looks.
func TestEditedMeanwhile(t *testing.T) {
	t.Parallel()
	follow := func(o *Options) { o.Follow = "thread" }
	o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, follow)
	root := o.fake.Say(o.ada, o.general, o.mention()+" one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
	two := o.fake.Say(o.bob, root, o.mention()+" two")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	o.stop()
	o.fake.ForgetSessions() // else it would simply go on
	o.fake.Edit(root, o.mention()+" one, and more")
	o.fake.Edit(two, o.mention()+" two, and more")
	o.fake.Edit(o.fake.Say(o.bob, root, o.mention()+" there"), o.mention()+" three")
	for range 2 {
		o.run(follow)
		o.in.Await(t, func() bool { return len(o.in.Messages) >= 3 })
		o.in.Do(func() { // as if it was never heard how far it had come
			o.in.Marks = []chat.Watermark{{Thread: thread(o.general, root), Last: api.RefOf(api.Place{Channel: o.general, Thread: root}, root), Sent: api.SentAt(root)}}
		})
		if err := o.a.FindMessages(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		o.stop()
		o.fake.ForgetSessions() // else it would simply go on
	}
	if got := o.in.Texts(); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("messages %q", got)
	}
}

// Reactions that were put on, or taken off, while the bot was away count;
// denials come first, and a second look tells nothing again.
func TestFoundReactions(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	ref := o.post(direct(dm), answer("approval", "may I?"), false)
	o.stop()
	o.fake.ForgetSessions() // else it would simply go on
	o.fake.React(o.bob, ref.ID, "✅")
	o.fake.Burst(o.bob, ref.ID, "🎉")
	o.fake.Burst(o.cleo, ref.ID, "❌")
	person := func(id, name string) chat.User { return chat.User{ID: chat.UserID(id), Name: name} }
	o.in.Do(func() {
		o.in.Waiting = []chat.Pending{{
			Thread: direct(dm), Call: "1", Ref: ref, Approve: []string{"✅", "👍"}, Deny: []string{"❌"},
			Approved: []chat.Reaction{{On: ref, By: person(o.ada, "Ada"), Emoji: "👍"}},
		}}
	})
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 3 })
	want := []chat.Reaction{
		{On: ref, By: person(o.cleo, "cleo"), Emoji: "❌", Found: true},
		{On: ref, By: person(o.ada, "Ada"), Emoji: "👍", Found: true, Removed: true},
		{On: ref, By: person(o.bob, "bob"), Emoji: "✅", Found: true},
	}
	if !slices.Equal(o.in.Reactions, want) {
		t.Errorf("reactions %+v, want %+v", o.in.Reactions, want)
	}
	o.wait(func(s *fakediscord.Server) bool {
		return len(s.Calls("GET /channels/{channel}/messages/{message}")) >= 2
	})
	if err := o.a.FindVotes(context.Background()); err != nil {
		t.Fatal(err)
	}
	o.in.Do(func() {
		if len(o.in.Reactions) != 3 {
			t.Errorf("a second look put %+v", o.in.Reactions[3:])
		}
		o.in.Waiting[0].Approved = []chat.Reaction{{On: ref, By: person(o.bob, "bob"), Emoji: "✅"}}
		o.in.Reactions = nil
	})
	o.fake.ClearReactions(ref.ID, "")
	o.in.Await(t, func() bool {
		return slices.Contains(o.in.Reactions, chat.Reaction{On: ref, By: person(o.bob, "bob"), Emoji: "✅", Found: true, Removed: true})
	})
}

// A reaction that is put on again after a moderator took it off with all others, or with
// all of its emoji, is a new one, and not an event that comes twice.
func TestTurnsCleared(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	r := api.Reaction{MessageID: "1", UserID: "2"}
	r.Emoji.Name = "✅"
	other := r
	other.Emoji.Name = "👍"
	for name, c := range map[string]api.Reaction{"all": {MessageID: "1"}, "of the emoji": {MessageID: "1", Emoji: r.Emoji}} {
		var turns turns
		first, again, beside := turns.key(r, false, at), turns.key(r, false, at), turns.key(other, false, at)
		elsewhere := c
		elsewhere.MessageID = "11"
		turns.cleared(elsewhere)
		if first != again || turns.key(r, false, at) != first {
			t.Errorf("%s: an event that comes twice is %q, then %q", name, first, again)
		}
		turns.cleared(c)
		if turns.key(r, false, at) == first {
			t.Errorf("%s: what is put on anew is taken for %q", name, first)
		}
		if got := turns.key(other, false, at); (got == beside) != (name == "of the emoji") {
			t.Errorf("%s: another emoji is %q, was %q", name, got, beside)
		}
	}
}

// Somebody's vote counts again after a moderator cleared the card.
func TestVoteAfterClearing(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	th := thread(o.general, id)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	p := asking("{}")
	ref := o.post(th, chat.Post{Key: "ask", Approval: p}, false)
	for n := range 2 {
		o.fake.React(o.bob, ref.ID, "✅")
		o.in.Await(t, func() bool { return len(o.in.Reactions) == n+1 })
		o.fake.ClearReactions(ref.ID, "")
	}
}
