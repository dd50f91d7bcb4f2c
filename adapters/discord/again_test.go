package discord

import (
	"slices"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/internal/fakediscord"
)

// Another try of an answer links to the one before it.
func TestEarlierAnswer(t *testing.T) {
	o, id, th := thinking(t)
	first := o.post(th, answer("answer/1", "It is 41."), false)
	p := answer("answer/2", "**Try 2**\n\nIt is 42.")
	p.Text.Earlier = &chat.Earlier{Ref: first, Try: 1, Markdown: "It is 41."}
	again := o.post(th, p, false)
	posts := o.fake.Posts(id)
	if want := "[Earlier answer (try 1)](https://discord.com/channels/"; !strings.Contains(posts[1].Content, want) || !strings.Contains(posts[1].Content, "/"+id+"/"+first.ID+")") {
		t.Errorf("it reads %q", posts[1].Content)
	}
	o.fake.ForgetNonces()
	if ref := o.post(th, p, true); ref != again || len(o.fake.Posts(id)) != 2 {
		t.Errorf("it is posted again: %v, %d messages", ref, len(o.fake.Posts(id)))
	}
}

// Another try answers a message that was written long ago. It pings whoever asked for
// it, if they had to wait, and not whoever wrote that message.
func TestWhoWaitsForAnotherTry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		took  time.Duration
		pings bool
	}{{2 * time.Second, false}, {time.Minute, true}} {
		now := time.Now().Add(time.Hour)
		o := open(t, fakediscord.Options{}, func(o *Options) { o.Now = func() time.Time { return now } })
		id := o.fake.Say(o.ada, o.general, o.mention()+" go")
		th := thread(o.general, id)
		o.post(th, answer("answer/1", "first"), false)
		for i, to := range []string{id, o.fake.Say(o.ada, id, "the question")} { // from which the thread was made, and one in it
			before := len(o.fake.Pings(id))
			p := answer("answer/2"+to, "**Try 2** · bob ran `deploy`")
			p.ReplyTo = api.RefOf(api.PlaceOf(th), to)
			p.Text.Waits = &chat.Waiter{By: chat.User{ID: chat.UserID(o.bob), Name: "bob"}, Since: now.Add(-tt.took)}
			o.post(th, p, false)
			got := o.fake.Pings(id)[before:]
			if tt.pings && !slices.Equal(got, []string{o.bob}) || !tt.pings && len(got) != 0 {
				t.Errorf("%d: after %v it pings %q", i, tt.took, got)
			}
		}
	}
}
