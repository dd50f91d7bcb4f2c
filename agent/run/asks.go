package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/chat"
	"nod/memory"
)

// mostAsked is how many approvals of one person may wait, in all threads.
const mostAsked = 32

// asksCommitted is how soon a noted approval is in the log, if it ever is.
const asksCommitted = time.Minute

// ask is an approval that a person asked for, in the store's note for all processes. It
// is there before the approval opens, and goes once somebody sees that it waits no
// more. That is checked only if there is no room for others.
type ask struct {
	Thread chat.ThreadID `json:"thread"`
	Call   string        `json:"call"`
	Again  int           `json:"again,omitempty"` // earlier requests for it
	At     time.Time     `json:"at"`
}

// tooMany says whether a person has as many waiting approvals as allowed, with those
// about to open; otherwise it notes them. It reads at most as many logs as one person
// can have waiting approvals.
func (d *driver) tooMany(ctx context.Context, at time.Time, open []memory.Asked) (bool, error) {
	name := "asks/" + d.thread.Platform + "/" + string(open[0].Requester.ID)
	for {
		noted, err := d.Store.Noted(ctx, name)
		if err != nil {
			return false, err
		}
		var asks []ask
		if json.Unmarshal(noted, &asks) != nil { // an unreadable note counts as empty
			asks = nil
		}
		asks = d.with(asks, at, open)
		if len(asks) > mostAsked {
			if asks, err = d.waiting(ctx, at, asks); err != nil {
				return false, err
			}
		}
		if len(asks) > mostAsked {
			return true, nil
		}
		value, err := json.Marshal(asks)
		if err != nil {
			return false, fmt.Errorf("note who asks: %w", err)
		}
		// Another process that comes in between has got room, so this ends.
		if done, err := d.Store.Swap(ctx, name, noted, value); done || err != nil {
			return false, err
		}
	}
}

// with adds the approvals about to open, each once.
func (d *driver) with(asks []ask, at time.Time, open []memory.Asked) []ask {
	asks = slices.DeleteFunc(asks, func(a ask) bool {
		return a.Thread == d.thread && slices.ContainsFunc(open, func(o memory.Asked) bool { return o.Call == a.Call })
	})
	for _, o := range open {
		asks = append(asks, ask{d.thread, o.Call, o.Again, at})
	}
	return asks
}

// waiting keeps those that still wait by their logs, or may be about to enter one.
func (d *driver) waiting(ctx context.Context, at time.Time, asks []ask) ([]ask, error) {
	logs := map[chat.ThreadID]*agent.Log{}
	for _, a := range asks {
		if logs[a.Thread] != nil {
			continue
		}
		tail, err := d.Store.Tail(ctx, a.Thread, 0)
		if err != nil {
			return nil, err
		}
		logs[a.Thread] = agent.NewLog(tail.Log, agent.Claim{})
	}
	return slices.DeleteFunc(asks, func(a ask) bool {
		if c := logs[a.Thread].Thread.Calls[a.Call]; c != nil && c.Asked != nil && c.Asked.Again >= a.Again {
			return !c.Pending()
		}
		return at.Sub(a.At) > asksCommitted
	}), nil
}

// counted removes approvals that would be too many, all or none of them. Their calls
// get that as the outcome. An approval that can't be counted does not open.
func (d *driver) counted(ctx context.Context, at time.Time, open []memory.Asked) (rest []memory.Asked, over []memory.Body, err error) {
	if len(open) == 0 {
		return nil, nil, nil
	}
	full, err := d.tooMany(ctx, at, open)
	if err != nil {
		return nil, nil, fmt.Errorf("look how many approvals wait: %w", err)
	}
	if !full {
		return open, nil, nil
	}
	for _, a := range open {
		over = append(over, memory.Result{Call: a.Call, Tool: a.Tool, State: chat.CallDenied, Text: approval.TooMany})
	}
	return nil, over, nil
}

// readier is a Toolbox that knows why a call would not run now, in words for the model;
// "" if it would.
type readier interface {
	NotReady(ctx context.Context, tool string) string
}

// unready removes approvals whose calls would not run anyway: the tool is off, or its
// server is away. The calls get that as the outcome.
func (d *driver) unready(ctx context.Context, open []memory.Asked) (rest []memory.Asked, over []memory.Body) {
	box, ok := d.Tools.(readier)
	if !ok {
		return open, nil
	}
	for _, a := range open {
		why := ""
		err := d.safely(d.thread, "see whether a tool is there", func() error {
			why = box.NotReady(ctx, a.Tool)
			return nil
		})
		if err != nil || why == "" { // in doubt the approval opens
			rest = append(rest, a)
			continue
		}
		over = append(over, memory.Result{Call: a.Call, Tool: a.Tool, State: chat.CallFailed, Text: why})
	}
	return rest, over
}
