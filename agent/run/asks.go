package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"nod/agent/approval"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// mostAsked is how many approvals of one person may wait, in all threads.
const mostAsked = 32

// asksCommitted is how soon an approval that was noted is in the log, if it ever is.
const asksCommitted = time.Minute

// ask is an approval that a person asked for, as the store notes it for all processes:
// before it is opened, and until it is seen that it waits no more. That is looked at
// only when there is no room for others.
type ask struct {
	Thread chat.ThreadID `json:"thread"`
	Call   string        `json:"call"`
	Again  int           `json:"again,omitempty"` // how often it was asked for before
	At     time.Time     `json:"at"`
}

// tooMany says whether a person has asked for as many approvals as may wait, with
// those that are to be opened at a time, and notes them otherwise. It looks into as
// many logs as one person can have approvals that wait, whatever waits for others.
func (d *driver) tooMany(ctx context.Context, at time.Time, open []memory.Asked) (bool, error) {
	name := "asks/" + d.thread.Platform + "/" + string(open[0].Requester.ID)
	for {
		noted, err := d.Store.Noted(ctx, name)
		if err != nil {
			return false, err
		}
		asks := d.with(asksOf(noted), at, open)
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

// asksOf reads what is noted of a person. What makes no sense is begun anew.
func asksOf(noted []byte) []ask {
	var asks []ask
	if json.Unmarshal(noted, &asks) != nil {
		return nil
	}
	return asks
}

// with adds those that are to be opened, each once.
func (d *driver) with(asks []ask, at time.Time, open []memory.Asked) []ask {
	asks = slices.DeleteFunc(asks, func(a ask) bool {
		return a.Thread == d.thread && slices.ContainsFunc(open, func(o memory.Asked) bool { return o.Call == a.Call })
	})
	for _, o := range open {
		asks = append(asks, ask{d.thread, o.Call, o.Again, at})
	}
	return asks
}

// waiting leaves those that still wait by the logs, or may be about to come into one.
func (d *driver) waiting(ctx context.Context, at time.Time, asks []ask) ([]ask, error) {
	logs := map[chat.ThreadID]map[string]view.AskState{}
	for _, a := range asks {
		if logs[a.Thread] != nil {
			continue
		}
		tail, err := d.Store.Tail(ctx, a.Thread, 0)
		if err != nil {
			return nil, err
		}
		logs[a.Thread] = view.Asks(tail.Log)
	}
	return slices.DeleteFunc(asks, func(a ask) bool {
		if known, ok := logs[a.Thread][a.Call]; ok && known.Again >= a.Again {
			return !known.Waits
		}
		return at.Sub(a.At) > asksCommitted
	}), nil
}

// counted takes approvals out that would be too many, all or none of them. They get
// that for their outcome. What can't be counted is not opened.
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
