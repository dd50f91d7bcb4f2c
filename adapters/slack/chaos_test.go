package slack

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/internal/fakeslack"
)

// With any fault on the way in or out, every message is put once, and every answer and
// approval stands once.
func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			chaos := fakeslack.Chaos{Twice: .1, Lose: .1, Late: .1, Reorder: .1, Cut: .03, Before: .1, After: .1, Drop: .1}
			o := open(t, fakeslack.Options{NoLimits: true, AckTimeout: 200 * time.Millisecond, Seed: seed, Chaos: chaos}, func(o *Options) { o.Pace = 1000 })
			const n = 20
			var roots []string
			for i := range n {
				roots = append(roots, o.fake.Say("U0ADA", general, fmt.Sprintf("<@U0BOT> %d", i)))
			}
			o.in.Await(t, func() bool { return len(o.in.Messages) == n })
			var all sync.WaitGroup
			for _, root := range roots {
				all.Go(func() { o.persist(thread(general, root)) })
			}
			all.Wait()
			for _, root := range roots {
				if own := o.own(thread(general, root)); len(own) != 2 {
					t.Errorf("%d messages stand in a thread", len(own))
				}
			}
			if texts := o.in.Texts(); len(texts) != n {
				t.Errorf("%d messages were put", len(texts))
			}
		})
	}
}

// persist makes two posts as the run does: again after an error, looking first.
func (o *office) persist(th chat.ThreadID) {
	ref := api.InThread(th, th.Root)
	for _, p := range []chat.Post{{Key: "ask/1", ReplyTo: ref, Approval: approval()}, {Key: "answer/1", ReplyTo: ref, Text: &chat.Text{Markdown: "hello"}}} {
		for try := 0; ; try++ {
			_, err := o.a.Post(o.t.Context(), th, p, try > 0)
			if err == nil {
				break
			}
			if try == 20 {
				o.t.Error(err)
				return
			}
		}
	}
}
