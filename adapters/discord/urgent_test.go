package discord

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"nod/chat"
	"nod/chat/outbox"
	"nod/internal/fakediscord"
)

// A card overtakes answers that wait for a channel's limit, and so do the steps before
// it.
func TestCardsOvertakeAnswers(t *testing.T) {
	t.Parallel()
	const answers = 60 // which take seconds, so that a busy machine asks in time
	o := open(t, fakediscord.Options{LimitScale: 10}, func(opt *Options) { opt.Pace = 10 })
	o.fake.BotMay(o.guild, fakediscord.Usual&^fakediscord.CreatePublicThreads) // all of it in one channel
	begin := func() chat.ThreadID { return thread(o.general, o.fake.Say(o.ada, o.general, "hello")) }
	var g errgroup.Group
	say := func(th chat.ThreadID, p chat.Post) error { // again, as the run does, where a busy machine was too late for a window
		_, err := o.a.Post(t.Context(), th, p, false)
		for later := new(outbox.RetryAfter); errors.As(err, &later); {
			_, err = o.a.Post(t.Context(), th, p, true)
		}
		return err
	}
	hold := make(chan struct{})
	o.fake.Inject(fakediscord.Fault{Route: "POST /channels/{channel}/messages", Times: answers, Hold: hold})
	for i := range answers {
		th := begin()
		g.Go(func() error { return say(th, answer("a", fmt.Sprint("answer ", i))) })
	}
	o.until("answers wait", func() bool { return o.a.Depth()["answer"] >= answers*2/3 })
	close(hold)
	th := begin()
	asks := []chat.Step{{Calls: []chat.ToolCall{{ID: "c-7", Tool: "deploy", State: chat.CallAsking}}}}
	if err := say(th, chat.Post{Key: "s", Steps: &chat.Steps{Turn: "1", Items: asks}}); err != nil {
		t.Fatal(err)
	}
	if err := say(th, chat.Post{Key: "p", Approval: asking("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	posts := o.fake.Posts(o.general)
	card := slices.IndexFunc(posts, func(m fakediscord.Message) bool { return strings.Contains(m.Text(), "May approve") })
	if later := len(posts) - 1 - card; card < 0 || later < 1 {
		t.Errorf("the card is message %d of %d", card+1, len(posts))
	}
}
