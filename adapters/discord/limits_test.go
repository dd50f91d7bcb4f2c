package discord

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// A command in a thread that nod has not heard of is understood by what comes with
// it: to ask Discord first may take longer than whoever gave it is made to wait.
func TestCommandBringsItsChannel(t *testing.T) {
	t.Parallel()
	o := open(t, fakediscord.Options{}, nil)
	in := api.Interaction{GuildID: o.guild, ChannelID: "4711", Channel: &api.Channel{ID: "4711", Type: discordgo.ChannelTypeGuildPublicThread, ParentID: o.general}}
	before := len(o.fake.Calls(""))
	p, ok, err := o.a.spoken(t.Context(), in)
	if err != nil || !ok || p != (api.Place{Channel: o.general, Thread: "4711"}) {
		t.Errorf("spoken in %v, %t, %v", p, ok, err)
	}
	in.Channel = &api.Channel{ID: "4712"}
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
	stranger := api.Reaction{UserID: o.bob, ChannelID: o.general, MessageID: o.fake.Say(o.bob, o.general, "lunch?"), GuildID: o.guild, AuthorID: o.bob}
	for i := range 25_000 {
		stranger.UserID = fmt.Sprint(i + 1)
		if err := o.a.reacted(t.Context(), flip{Reaction: stranger, id: stranger.UserID}, false); !errors.Is(err, errNotOurs) {
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
		if c, err := o.a.atlas.Channel(t.Context(), o.general); err != nil || c.GuildID != o.guild {
			t.Fatalf("%+v, %v", c, err)
		}
		if name := o.a.atlas.ChannelName(o.general); name != "general" {
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
