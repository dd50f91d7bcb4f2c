package meter

import (
	"context"
	"iter"
	"time"

	"nod/chat"
	"nod/memory"
)

// Approvals list what waits. Every store does.
type Approvals interface {
	Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error]
	Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error)
}

// mostReads is how many threads one look reads; further ones are read by the next looks.
const mostReads = 100

// Oldest shows for how long the oldest approval of each tool waits.
func (m *Meter) Oldest(store Approvals, platforms []string) {
	o := oldest{m: m, store: store, asked: map[memory.PendingApproval]asked{}}
	m.reads("nod_approvals_oldest_seconds", "For how long the oldest approval of a tool waits, of all processes that share the store.", "tool", readEvery,
		func(ctx context.Context) map[string]float64 { return o.look(ctx, platforms, time.Now()) })
}

// oldest remembers what was asked, so that each approval is read once.
type oldest struct {
	m     *Meter
	store Approvals
	asked map[memory.PendingApproval]asked
}

type asked struct {
	tool string
	at   time.Time
}

// look gives the longest wait by tool; nil where the store does not say.
func (o *oldest) look(ctx context.Context, platforms []string, now time.Time) map[string]float64 {
	out, still, reads := map[string]float64{}, map[memory.PendingApproval]asked{}, 0
	for _, platform := range platforms {
		for p, err := range o.store.Pending(ctx, platform) {
			if err != nil {
				return nil // not known, which is no number
			}
			p.Due = time.Time{} // it changes
			a, known := o.asked[p]
			if !known && reads < mostReads {
				reads++
				a, known = o.read(ctx, p)
			}
			if !known {
				continue
			}
			if still[p] = a; a.tool != "" {
				tool := o.m.tool(a.tool)
				out[tool] = max(out[tool], now.Sub(a.at).Seconds())
			}
		}
	}
	o.asked = still
	return out
}

// read finds when an approval was asked for. Of one whose entry is not loaded that is
// never known.
func (o *oldest) read(ctx context.Context, p memory.PendingApproval) (a asked, ok bool) {
	t, err := o.store.Tail(ctx, p.Thread, 0)
	for _, e := range t.Log {
		if b, is := e.Body.(memory.Asked); is && b.Call == p.Call {
			a = asked{b.Tool, e.At}
		}
	}
	return a, err == nil
}
