package discord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// meanwhile has people write and react wherever they can, also where no look could
// find it, and says which texts have to arrive.
func (o *office) meanwhile(root string) []string {
	o.fake.Say(o.ada, o.fake.DM(o.ada), "direct")
	o.fake.Say(o.bob, o.fake.DM(o.bob), "a first direct message")
	o.fake.Say(o.bob, root, o.mention()+" in the thread")
	o.fake.Say(o.bob, o.general, o.mention()+" in the channel")
	o.fake.Say(o.bob, o.fake.AddChannel(o.guild, "new"), o.mention()+" in a new channel")
	o.fake.Say(o.bob, o.fake.Publish(o.bob, o.fake.AddForum(o.guild, "forum"), "title", "post"), o.mention()+" in a post")
	o.fake.React(o.ada, root, "👍")
	return []string{"a first direct message", "begin", "direct", "in a new channel", "in a post", "in the channel", "in the thread"}
}

// A process that starts soon after another, ended or killed, goes on with its
// session: nothing is lost, whatever it is.
func TestNextProcess(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"ended": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{}, nil)
			root := o.fake.Say(o.ada, o.general, o.mention()+" begin")
			o.in.Await(t, func() bool { return len(o.in.Messages) == 1 && len(o.in.Notes) == 1 })
			o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
			o.allLooked()
			var notes map[string][]byte
			o.in.Do(func() { notes = maps.Clone(o.in.Notes) })
			o.stop()
			if killed { // it did not come to its last note
				o.in.Do(func() { o.in.Notes = notes })
			}
			want := o.meanwhile(root)
			o.run(nil)
			o.in.Await(t, func() bool { return len(o.in.Messages) == len(want) && len(o.in.Reactions) == 1 })
			if got := slices.Sorted(slices.Values(o.in.Texts())); !slices.Equal(got, want) {
				t.Errorf("messages %q, want %q", got, want)
			}
			if got := o.fake.Gateway(); got.Identifies != 1 || got.Resumes != 1 || slices.Contains(got.Closes, 1000) {
				t.Errorf("%+v", got)
			}
			// The bot asks for facts that only a new session tells.
			o.fake.Say(o.ada, o.general, "<@&"+o.fake.BotRole(o.guild)+"> by its role <@"+o.fake.Bot()+">")
			o.in.Await(t, func() bool { return len(o.in.Messages) == len(want)+1 })
			th := thread(o.general, root)
			if o.a.Possible(t.Context(), th, "role:1") || !o.a.Possible(t.Context(), th, "role:"+o.guild) {
				t.Error("what is possible is wrong")
			}
		})
	}
}

// A received event that was not put comes again.
func TestNextProcessUnput(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.allLooked()
	o.in.Do(func() { o.in.Fail = errors.New("down") })
	o.fake.Say(o.ada, dm, "two")
	tries := 0
	o.in.Await(t, func() bool { tries++; return tries > 3 })
	o.stop()
	o.in.Do(func() { o.in.Fail = nil })
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 && o.in.Messages[1].Text == "two" })
	if got := o.fake.Gateway(); got.Identifies != 1 {
		t.Errorf("%+v", got)
	}
}

// beside is for a process beside another one: it does not look again for the note of the
// other before that shows that it is there, however slow the machine is.
func (o *office) beside(opt *Options) { opt.Inbox = &patient{Ledger: o.in, t: o.t} }

// patient is an inbox in which a note that was read once is read again when it is another.
type patient struct {
	*ledger.Ledger
	t    *testing.T
	read []byte
}

func (p *patient) Noted(ctx context.Context, name string) ([]byte, error) {
	if p.read != nil {
		p.Await(p.t, func() bool { return !bytes.Equal(p.Notes[name], p.read) })
	}
	var err error
	p.read, err = p.Ledger.Noted(ctx, name)
	return p.read, err
}

// A session that another process has is left to it.
func TestSessionOfAnother(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.in.Await(t, func() bool { return len(o.in.Notes) == 1 })
	first := o.stop
	o.run(o.beside)
	if got := o.fake.Gateway(); got.Identifies != 2 || got.Resumes != 0 {
		t.Errorf("%+v", got)
	}
	first()
}

// When the session is over there is a new one, and what was missed is looked for.
func TestSessionIsOver(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 && len(o.in.Notes) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.Say(o.ada, dm, "two")
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	if got := o.fake.Gateway(); got.Identifies != 2 || got.Refused != 1 {
		t.Errorf("%+v", got)
	}
}

// A connection that goes on with a session says from its first heartbeat on what came
// last, also before anything comes.
func TestFirstHeartbeat(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{Heartbeat: 20 * time.Millisecond}, func(o *Options) { o.Greet = time.Hour })
	o.fake.IgnoreResumes(true)
	before := o.fake.Gateway()
	var open *fakediscord.Connection // a slow machine misses such beats, and connects again
	o.wait(func(s *fakediscord.Server) bool {
		if all := s.Connections(); len(all) > 0 {
			open = all[0]
		}
		return open != nil
	})
	open.Cut()
	o.wait(func(s *fakediscord.Server) bool {
		return s.Gateway().Connects > before.Connects && s.Gateway().Beats > before.Beats+5
	})
	if got := o.fake.Gateway(); got.Blind > 0 {
		t.Errorf("%+v", got)
	}
}

// Who is asked to connect again in place of being greeted does so at once.
func TestReconnectBeforeHello(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, func(o *Options) { o.Pause = time.Hour })
	o.fake.ReconnectFirst(2)
	o.fake.Connections()[0].Reconnect()
	o.wait(func(s *fakediscord.Server) bool { return s.Gateway().Resumes == 1 })
}

// The first note of a session does not wait for its time, and the last one says that
// nobody has the session any more: the next process need not find that out.
func TestFirstAndLastNote(t *testing.T) {
	t.Parallel()
	seldom := func(o *Options) { o.Beat = time.Hour }
	o := open(t, fakediscord.Options{}, seldom)
	dm := o.fake.DM(o.ada)
	o.in.Await(t, func() bool { return len(o.in.Notes) == 1 })
	o.fake.Say(o.ada, dm, "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.looked()
	o.stop()
	o.fake.Say(o.ada, dm, "two")
	o.run(seldom)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	if got := o.fake.Gateway(); got.Identifies != 1 {
		t.Errorf("%+v", got)
	}
}

// A session that was another one's, by what it hears, or was left long ago is not
// gone on with: there is a new one.
func TestSessionThatDoesNotFit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"other intents": func(o *Options) { o.Follow = "thread" },
		"other shards":  func(o *Options) { o.Shards = 2 },
		"long ago":      func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Hour) } },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, nil)
			o.in.Await(t, func() bool { return len(o.in.Notes) == 1 })
			o.stop()
			o.run(change)
			if got := o.fake.Gateway(); got.Identifies < 2 || got.Resumes != 0 || got.Refused != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// allLooked waits until nothing missed is left to look for, and that is noted. The notes
// of an earlier process say so too, before this one has written its own.
func (o *office) allLooked() {
	o.t.Helper()
	o.looked()
	o.in.Await(o.t, func() bool {
		for _, note := range o.in.Notes {
			if strings.Contains(string(note), `"un`) {
				return false
			}
		}
		return len(o.in.Notes) > 0
	})
}

// looked waits until nothing missed is left to look for.
func (o *office) looked() {
	o.t.Helper()
	o.until("everything is looked for", func() bool {
		var b gateway.Bookmark
		o.a.gate.Owe(&b)
		return !b.Unlooked
	})
}

// Guilds that are told of late are looked through too.
func TestLateGuilds(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	later := o.fake.AddChannel(o.fake.AddGuild("later", o.ada), "general")
	o.run(nil)
	o.fake.Say(o.ada, o.general, o.mention()+" one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.HoldGuilds()
	o.fake.Say(o.ada, later, o.mention()+" two")
	o.run(nil)
	o.fake.TellGuilds(1)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls("GET /channels/{channel}/messages")) > 0 })
	o.fake.TellGuilds(1)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
}

// So are those that are told of after the first look, while others are not yet, and
// may never be.
func TestLaterGuilds(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	later := o.fake.AddChannel(o.fake.AddGuild("later", o.ada), "general")
	o.fake.AddGuild("in an outage", o.ada)
	o.run(nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.HoldGuilds()
	o.fake.Say(o.ada, later, o.mention()+" two")
	o.run(nil)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls("GET /channels/{channel}/messages")) > 0 })
	o.fake.TellGuilds(2)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
}

// A guild that is in an outage when a session begins is looked through once it is
// back, whatever was heard elsewhere meanwhile.
func TestBackFromOutage(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.in.Do(func() { o.in.Marks = []chat.Watermark{markOf(direct(dm), o.fake.Messages(dm)[0].ID)} })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.HoldGuilds()
	o.fake.Say(o.ada, o.general, o.mention()+" two")
	o.run(nil)
	o.fake.Outage(o.guild)
	o.wait(func(s *fakediscord.Server) bool { return len(s.Calls("GET /channels/{channel}/messages")) > 0 })
	live := o.fake.Say(o.ada, dm, "live")
	o.in.Await(t, func() bool { return slices.Contains(texts(o), "live") })
	o.in.Do(func() { o.in.Marks = []chat.Watermark{markOf(direct(dm), live)} })
	o.fake.Connections()[0].Cut()
	o.wait(func(s *fakediscord.Server) bool { return s.Gateway().Resumes == 1 })
	o.ready()
	o.fake.TellGuilds(1)
	o.in.Await(t, func() bool { return slices.Contains(texts(o), "two") })
}

// A guild in an outage keeps its roles and channels.
func TestOutage(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	role := o.fake.AddRole(o.guild, "ops", 0)
	o.fake.Outage(o.guild)
	id := o.fake.Say(o.ada, o.general, o.mention()+" go")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if !o.a.Possible(t.Context(), thread(o.general, id), "role:"+role) {
		t.Error("nobody can have the role")
	}
}

// A process that ends before it has looked for all that was missed leaves that to the
// next one, which goes on with its session or not, also where something newer was heard
// meanwhile.
func TestNextProcessOfAnUnfinishedLook(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		over   bool
		shards int
	}{
		"goes on with the session": {false, 1}, "begins a new one": {true, 1}, "goes on with two": {false, 2}, "begins two": {true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sharded := func(o *Options) { o.Shards = of.shards }
			o := open(t, fakediscord.Options{}, sharded)
			dm := o.fake.DM(o.ada)
			o.fake.Say(o.ada, dm, "before")
			o.hears(dm, "before")
			o.allLooked()
			o.stop()
			o.fake.ForgetSessions()
			other := o.fake.AddChannel(o.guild, "other")
			o.fake.Say(o.bob, other, o.mention()+" meanwhile")
			fault := o.fake.Inject(fakediscord.Fault{Route: "GET /channels/{channel}/messages", Channel: other, Hang: true, Times: 1_000_000})
			o.run(sharded)
			o.fake.Say(o.ada, dm, "live")
			o.hears(dm, "live")
			o.stop()
			fault.Cancel()
			if of.over {
				o.fake.ForgetSessions()
			}
			o.run(sharded)
			o.in.Await(t, func() bool { return slices.Contains(texts(o), "meanwhile") })
			o.allLooked()
			o.stop()
			before := len(o.fake.Calls("GET /channels/{channel}/messages"))
			o.run(sharded)
			o.fake.Say(o.ada, dm, "after")
			o.hears(dm, "after")
			if now := len(o.fake.Calls("GET /channels/{channel}/messages")); now > before || len(o.in.Texts()) != 4 {
				t.Errorf("%d more reads; messages %q", now-before, o.in.Texts())
			}
		})
	}
}

// So it does with the votes on approvals: those that a process has not looked at when it
// ends, the next one does.
func TestNextProcessOfUncountedVotes(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	ref := o.post(direct(dm), answer("approval", "may I?"), false)
	o.stop()
	o.fake.ForgetSessions()
	o.fake.React(o.ada, ref.ID, "✅")
	o.in.Do(func() {
		o.in.Waiting = []chat.Pending{{Thread: direct(dm), Call: "1", Ref: ref, Approve: []string{"✅"}}}
	})
	look := fakediscord.Fault{Route: "GET /channels/{channel}/messages/{message}", Hang: true, Times: 1_000_000}
	fault := o.fake.Inject(look)
	o.run(nil)
	o.wait(func(*fakediscord.Server) bool { return fault.Hits() > 0 })
	o.fake.Say(o.ada, dm, "what of it?")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.allLooked()
	o.stop()
	fault.Cancel()
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 1 })
	if got := o.fake.Gateway(); got.Identifies != 2 || got.Resumes != 1 {
		t.Errorf("%+v", got)
	}
}

// A vote that was taken back does not come back, not even for a moment, where a process
// that was killed had not noted what it heard, and the next one hears it again: others may
// have voted since.
func TestVotesHeardAgain(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	var notes map[string][]byte
	o.allLooked()
	o.in.Do(func() { notes = maps.Clone(o.in.Notes) })
	th := thread(o.general, o.fake.Say(o.ada, o.general, o.mention()+" go"))
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	ref := o.post(th, chat.Post{Key: "p", Approval: asking("{}")}, false)
	for i, act := range []func(){
		func() { o.fake.React(o.ada, ref.ID, "✅") }, func() { o.fake.Unreact(o.ada, ref.ID, "✅") }, func() { o.fake.Burst(o.bob, ref.ID, "✅") },
	} {
		act()
		o.in.Await(t, func() bool { return len(o.in.Reactions) == i+1 })
	}
	o.stop()
	o.in.Do(func() { o.in.Notes = notes })
	o.run(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(time.Minute) } })
	o.in.Await(t, func() bool { return len(o.in.Reactions) == 5 })
	var got []string
	for _, r := range o.in.Reactions[3:] {
		got = append(got, fmt.Sprint(r.By.ID, " ", r.Removed))
	}
	if want := []string{o.ada + " true", o.bob + " false"}; !slices.Equal(got, want) {
		t.Errorf("put again: %q, want %q", got, want)
	}
}
