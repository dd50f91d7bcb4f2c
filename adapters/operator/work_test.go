package operator

import (
	"context"
	"iter"
	"testing"

	"nod/chat"
	"nod/memory"
	"nod/memory/sqlite"
)

// counted is a store that counts what it is asked.
type counted struct {
	*sqlite.Store
	logs, tails, entries, pending, lists, lines int
}

func (c *counted) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	all, err := c.Store.Read(ctx, thread)
	c.logs++
	c.entries += len(all)
	return all, err
}

func (c *counted) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	t, err := c.Store.Tail(ctx, thread, after)
	c.tails++
	c.entries += len(t.Log)
	return t, err
}

func (c *counted) Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error] {
	return func(yield func(memory.PendingApproval, error) bool) {
		for a, err := range c.Store.Pending(ctx, platform) {
			if c.pending++; !yield(a, err) {
				return
			}
		}
	}
}

func (c *counted) Threads(ctx context.Context, q memory.ListQuery) ([]memory.Listed, error) {
	found, err := c.Store.Threads(ctx, q)
	c.lists += len(found)
	return found, err
}

func (c *counted) Newer(ctx context.Context, mark string, each func(memory.KeptLine)) (string, bool, error) {
	return c.Store.Newer(ctx, mark, func(k memory.KeptLine) { c.lines++; each(k) })
}

func openCounted(t *testing.T) (*office, *counted) {
	t.Helper()
	c := &counted{}
	o := openOffice(t, func(o *Options) {
		c.Store = o.Store.(*sqlite.Store)
		o.Store, o.Threads = c, c
	})
	return o, c
}

// A list costs the same for each page, however many threads there are.
func TestListsReadAPage(t *testing.T) {
	o, c := openCounted(t)
	cost := map[string]counted{}
	made := 0
	for _, threads := range []int{looked + 20, looked + 100} {
		for ; made < threads; made++ {
			o.ask(made)
		}
		for _, view := range []string{"/waiting", "/live", "/thread"} {
			*c = counted{Store: c.Store}
			o.get(view)
			got := *c
			got.Store = nil
			if was, ok := cost[view]; ok && was != got {
				t.Errorf("%s asks %+v of %d threads, and %+v of fewer", view, got, threads, was)
			}
			cost[view] = got
			if got.logs > 0 || got.tails > looked || got.pending > pageSize+1 || got.lists > looked {
				t.Errorf("%s asks %+v", view, got)
			}
		}
	}
}
