package discord

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/chat/catchup"
	"nod/front"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// Missed messages are looked for first in the places that the Gateway reports as
// changed: a busy channel, a channel without a conversation, a thread that hundreds of
// others were newer than. Other places, and thousands of waiting approvals, come later.
func TestLookWhereSomethingWasWritten(t *testing.T) {
	t.Parallel()
	// At the pace of tests it makes a hundred calls a second. The look waits until all
	// channels are known.
	slow := func(o *Options) { o.Global, o.Told = 1, ledger.Longest }
	o := open(t, fakediscord.Options{}, slow)
	o.fake.Say(o.ada, o.fake.DM(o.ada), "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	for range mostPages*pageSize + 1 {
		o.fake.Say(o.bob, o.general, "between us")
	}
	old := o.fake.OpenThread(o.ada, o.general, "", "between us")
	marks := []chat.Watermark{markOf(thread(o.general, old), old)}
	marks[0].Sent = marks[0].Sent.Add(-time.Hour)
	var cards []chat.Pending
	for i := range mostThreads + 50 {
		quiet := fmt.Sprint(api.Snowflake(old) - int64(i) - 1) // archived, as the Gateway does not tell of it
		marks = append(marks, markOf(thread(o.general, quiet), quiet))
		cards = append(cards, chat.Pending{Thread: direct(o.fake.DM(o.bob)), Call: quiet, Ref: api.RefOf(api.Place{Channel: o.fake.DM(o.bob)}, quiet), Approve: []string{"✅"}})
	}
	o.in.Do(func() { o.in.Marks, o.in.Waiting = marks, cards })
	other := o.fake.AddChannel(o.guild, "other")
	places := []string{old, o.general, other}
	for _, p := range places {
		o.fake.Say(o.ada, p, o.mention()+" in "+p)
	}
	before := len(o.fake.Calls(""))
	o.run(slow)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 4 })
	reads := o.fake.Calls("")[before:]
	for _, p := range places {
		i := slices.IndexFunc(reads, func(c fakediscord.Call) bool { return c.Path == "/channels/"+p+"/messages" })
		quiet, votes := 0, 0
		for _, c := range reads[:max(i, 0)] {
			switch {
			case c.Route == "GET /channels/{channel}/messages/{message}":
				votes++
			case c.Route == "GET /channels/{channel}/messages" && c.Status == http.StatusNotFound:
				quiet++
			}
		}
		if i < 0 || quiet > lookers || votes > len(cards)/2 { // what was begun before it was known what is new
			t.Errorf("%s is read as number %d, behind %d of quiet places and %d votes", p, i, quiet, votes)
		}
	}
	o.wait(func(s *fakediscord.Server) bool {
		return slices.ContainsFunc(s.Calls(""), func(c fakediscord.Call) bool { return strings.Contains(c.Path, cards[0].Ref.ID) })
	})
}

func markOf(t chat.ThreadID, id string) chat.Watermark {
	return chat.Watermark{Thread: t, Last: api.RefOf(api.PlaceOf(t), id), Sent: api.SentAt(id)}
}

// hears waits until a text in a direct conversation is put, which is then the last that
// was heard of anywhere.
func (o *office) hears(dm, text string) {
	o.t.Helper()
	o.in.Await(o.t, func() bool { return slices.Contains(texts(o), text) })
	msgs := o.fake.Messages(dm)
	o.in.Do(func() { o.in.Marks = []chat.Watermark{markOf(direct(dm), msgs[len(msgs)-1].ID)} })
}

// A session of a process that surely ended is gone on with at once.
func TestSessionOfAProcessThatEnded(t *testing.T) {
	t.Parallel()
	seldom := func(o *Options) { o.Beat, o.Process = time.Hour, "one" }
	o := open(t, fakediscord.Options{}, seldom)
	o.in.Await(t, func() bool { return len(o.in.Notes) == 1 })
	o.looked()
	o.stop()
	o.in.Do(func() { // as if it had been killed
		for name, note := range o.in.Notes {
			open := strings.Replace(string(note), `"closed":true`, `"closed":false`, 1)
			if !strings.Contains(open, `"closed":false`) {
				t.Errorf("the note is %s", note)
			}
			o.in.Notes[name] = []byte(open)
		}
	})
	o.fake.Say(o.ada, o.fake.DM(o.ada), "meanwhile")
	o.run(func(o *Options) {
		o.Beat, o.Process = time.Hour, "two"
		o.Ended = func(process string) bool { return process == "one" }
	})
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	if got := o.fake.Gateway(); got.Identifies != 1 || got.Resumes != 1 {
		t.Errorf("%+v", got)
	}
}

// Messages of a gap, and of a second one soon after, don't wait for the votes on all
// waiting approvals.
func TestMessagesBesideVotes(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.stop()
	o.in.Do(func() {
		o.in.Marks = []chat.Watermark{markOf(direct(dm), o.fake.Messages(dm)[0].ID)}
		for range 40 {
			o.in.Waiting = append(o.in.Waiting, chat.Pending{Thread: direct(dm), Call: "1", Ref: api.RefOf(api.Place{Channel: dm}, "1"), Approve: []string{"✅"}})
		}
	})
	o.fake.Inject(fakediscord.Fault{Route: "GET /channels/{channel}/messages/{message}", Hang: true, Times: 1_000_000})
	o.fake.ForgetSessions()
	o.fake.Say(o.ada, dm, "two")
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	now := o.fake.Connections()
	o.fake.ForgetSessions()
	o.fake.Say(o.ada, dm, "three") // to no session
	now[0].Cut()
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
}

// A look in a session that goes on, which told of no roles, knows when the bot is called
// by its role. A message that was changed calls nobody.
func TestLookKnowsItsRole(t *testing.T) {
	t.Parallel()
	follow := func(o *Options) { o.Follow = front.FollowThread }
	o := open(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent}, follow)
	root := o.fake.Say(o.ada, o.general, o.mention()+" one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.allLooked()
	o.stop()
	o.run(follow)
	o.fake.ForgetSessions()
	role := "<@&" + o.fake.BotRole(o.guild) + ">"
	o.fake.Edit(o.fake.Say(o.ada, o.general, "between us"), role+" changed")
	o.fake.Say(o.ada, o.general, role+" two") // to no session
	later := o.fake.Say(o.bob, o.general, "between us")
	o.in.Do(func() { o.in.Marks = []chat.Watermark{markOf(thread(o.general, root), later)} })
	if err := o.a.FindMessages(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := texts(o); len(got) != 2 || !strings.HasSuffix(got[1], "two") {
		t.Errorf("messages %q", got)
	}
}

// A look that failed is made again for all that it was made for, also where a connection
// was lost and is back meanwhile, and something newer was heard.
func TestLookAgainAfterAResume(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "before")
	o.hears(dm, "before")
	o.allLooked()
	other := o.fake.AddChannel(o.guild, "other")
	first := o.fake.Connections()
	o.fake.ForgetSessions()
	o.fake.Say(o.bob, other, o.mention()+" meanwhile") // to no session
	fault := o.fake.Inject(fakediscord.Fault{Route: "GET /channels/{channel}/messages", Channel: other, Times: 2, Status: http.StatusBadRequest, Code: 50035})
	first[0].Cut()
	o.wait(func(*fakediscord.Server) bool { return fault.Hits() == 2 }) // what is new there, and a little older
	o.ready()
	o.fake.Say(o.ada, dm, "live")
	o.hears(dm, "live")
	o.fake.Connections()[0].Cut()
	o.wait(func(s *fakediscord.Server) bool { return s.Gateway().Resumes > 0 })
	o.ready()
	o.a.Missed(catchup.Gap{}) // as a minute later
	o.in.Await(t, func() bool { return slices.Contains(texts(o), "meanwhile") })
}

// A message so old that its event id is forgotten is not put again by a look, also
// after a recent event in its conversation, such as an approval that lapsed.
func TestHeardLongAgo(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	dm := o.fake.DM(o.ada)
	o.fake.Say(o.ada, dm, "long ago")
	root := o.fake.Say(o.ada, o.general, o.mention()+" long ago")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 2 })
	var marks []chat.Watermark
	o.in.Do(func() { marks = slices.Clone(o.in.Marks) })
	o.fake.Say(o.ada, o.general, o.mention()+" later")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 2 })
	o.stop()
	o.fake.ForgetSessions()
	o.in.Do(func() { // three days later
		clear(o.in.Known)
		o.in.Marks = marks // in the other nothing was since
	})
	o.fake.Say(o.ada, root, o.mention()+" meanwhile")
	o.run(func(o *Options) { o.Now = func() time.Time { return time.Now().Add(80 * time.Hour) } })
	o.in.Await(t, func() bool { return slices.Contains(texts(o), "meanwhile") })
	o.allLooked()
	if got, want := o.in.Texts(), []string{"long ago", "long ago", "later", "meanwhile"}; !slices.Equal(got, want) {
		t.Errorf("messages %q, want %q", got, want)
	}
}

// Where a process left its look undone, what came after a moment is read again: of that
// it is not said that none of it was put.
func TestReadAgainIsNotNew(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	o.allLooked()
	now := time.Now()
	at := func(age time.Duration) chat.Watermark {
		id := api.IDAt(now.Add(-age))
		return markOf(thread(o.general, id), id)
	}
	lately, before := at(time.Hour), at(80*time.Hour)
	o.a.gate.Inherit(gateway.Bookmark{Unlooked: true, Since: now.Add(-100 * time.Hour)})
	for _, s := range o.a.stretches([]chat.Watermark{lately, before}) {
		if s.own != (s.channel == before.Last.ID) {
			t.Errorf("%+v, of %v and %v", s, lately.Last, before.Last)
		}
	}
}

// A missed message whose author Discord does not name holds up its own thread, also an
// archived one, and no other thread of its channel.
func TestOneHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	o := build(t, fakediscord.Options{})
	ops := o.fake.AddRole(o.guild, "ops", 0)
	for _, who := range []string{o.ada, o.bob} {
		o.fake.SetRoles(o.guild, who, ops)
	}
	allow := func(opt *Options) { opt.Allow = []string{"role:" + ops} }
	o.run(allow)
	root := o.fake.Say(o.ada, o.general, o.mention()+" one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.wait(func(s *fakediscord.Server) bool { return len(s.Threads(o.general)) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.Say(o.bob, root, o.mention()+" mine first")
	o.fake.Say(o.ada, root, o.mention()+" and this then")
	o.fake.Archive(root, true, false)
	o.fake.Say(o.bob, o.general, o.mention()+" two")
	o.fake.Say(o.ada, o.general, o.mention()+" three")
	o.run(func(opt *Options) {
		allow(opt)
		via(func(r *http.Request) (int, string, bool) {
			return http.StatusInternalServerError, "{}", strings.HasSuffix(r.URL.Path, "/members/"+o.bob)
		})(opt)
	})
	o.in.Await(t, func() bool {
		return slices.ContainsFunc(o.in.Messages, func(m ledger.Put) bool { return m.Text == "three" })
	})
	read := "/channels/" + root + "/messages"
	o.wait(func(s *fakediscord.Server) bool {
		return slices.ContainsFunc(s.Calls(""), func(c fakediscord.Call) bool { return c.Path == read })
	})
	o.stop()
	o.run(allow)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 5 })
	got := o.in.Texts()
	if at := slices.Index(got, "mine first"); !slices.Equal(got[:2], []string{"one", "three"}) || at > slices.Index(got, "and this then") {
		t.Errorf("messages %q", got)
	}
}

// The look for missed messages reads threads and posts that the bot was never in, too.
func TestBackfillThreads(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	th := o.fake.OpenThread(o.ada, o.general, "", "between us")
	forum := o.fake.AddForum(o.guild, "questions")
	o.fake.Say(o.ada, o.fake.DM(o.ada), "one")
	o.in.Await(t, func() bool { return len(o.in.Messages) == 1 })
	o.stop()
	o.fake.ForgetSessions()
	o.fake.Say(o.ada, th, o.mention()+" two")
	o.fake.Publish(o.bob, forum, "why?", o.mention()+" three")
	o.run(nil)
	o.in.Await(t, func() bool { return len(o.in.Messages) == 3 })
	if got := slices.Sorted(slices.Values(o.in.Texts())); !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("messages %q", got)
	}
}

// The log names the channels that the look leaves out: too many ones, and those that the
// bot can't read.
func TestNotLookedThrough(t *testing.T) {
	var log bytes.Buffer
	a, err := New(Options{Token: "x", APIURL: "http://127.0.0.1:1", Common: front.Common{Inbox: ledger.New(), Logger: slog.New(slog.NewTextHandler(&log, nil))}})
	if err != nil {
		t.Fatal(err)
	}
	a.self.me.Store(&api.User{ID: "1"})
	g := api.Guild{ID: "7"}
	for n := range 2600 {
		g.Channels = append(g.Channels, api.Channel{ID: fmt.Sprint(1000 + n), LastMessageID: fmt.Sprint(10_000 + n)})
	}
	a.atlas.PutGuild(g)
	over, cancel := context.WithCancel(t.Context())
	cancel() // nothing is read
	a.stretches([]chat.Watermark{{Thread: thread("1", "2"), Last: chat.MessageRef{ID: "1"}}})
	if !strings.Contains(log.String(), "not every channel is looked through") || !strings.Contains(log.String(), "channels=2600 looked_through=2000") {
		t.Errorf("the log says %s", log.String())
	}
	log.Reset()
	a.atlas.PutGuild(api.Guild{
		ID: "5", Members: []api.Member{{User: &api.User{ID: "1"}}}, Roles: []api.Role{{ID: "5", May: discordgo.PermissionViewChannel}}, Channels: []api.Channel{{ID: "6"}},
	})
	if err := a.overdue(over, stretch{span: span{channel: "6"}, last: "1"}); err != nil || !strings.Contains(log.String(), "lacks Read Message History") {
		t.Errorf("%v, the log says %s", err, log.String())
	}
}
