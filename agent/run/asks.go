package run

import (
	"context"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// mostAsked is how many approvals of one person may wait, in all threads.
const mostAsked = 32

// waits is what a store may be besides: it knows which approvals wait.
type waits interface {
	memory.Catchup
	memory.Reader
}

// tooMany says whether a person has asked for as many approvals as may wait, with
// more to come. Whoever waits is looked up in the logs only where so many wait at
// all. When that can't be found out it is asked: a store that does not answer takes
// no approval either.
func (d *driver) tooMany(ctx context.Context, who chat.User, more int) bool {
	store, ok := d.Store.(waits)
	if !ok {
		return false
	}
	var threads []chat.ThreadID
	total := more
	known := map[chat.ThreadID]bool{}
	for p, err := range store.Pending(ctx, d.thread.Platform) {
		if err != nil {
			return false
		}
		total++
		if !known[p.Thread] {
			known[p.Thread], threads = true, append(threads, p.Thread)
		}
	}
	if total <= mostAsked {
		return false
	}
	count := more
	for _, t := range threads {
		tail, err := store.Tail(ctx, t, 0)
		if err != nil {
			continue
		}
		if count += agent.AskedBy(tail.Log, who.ID); count > mostAsked {
			return true
		}
	}
	return false
}

// refused is what came of calls for which nobody can be asked now.
func refused(open []memory.Asked) []memory.Body {
	var out []memory.Body
	for _, a := range open {
		out = append(out, memory.Result{Call: a.Call, Tool: a.Tool, State: chat.CallDenied, Text: agent.TooMany})
	}
	return out
}
