package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/chat"
)

// Limits of a person's overview: listed approvals, and threads that are read for them.
const (
	mostListed = 20
	mostRead   = 200
)

// Home is a person's overview, outside of any conversation.
func (i Inbox) Home(ctx context.Context, platform string, v chat.Visit) (chat.Home, error) {
	h, err := i.Waiting(ctx, platform, v)
	if err != nil {
		return h, err
	}
	if i.Agent != nil {
		h.Tools = i.Agent.Offers(v.Who.ID, func(rule string) bool {
			in, err := v.Member(ctx, chat.ThreadID{}, rule)
			return err == nil && in
		})
	}
	for _, a := range i.Limits.accounts(time.Now(), platform, v.Who.ID, chat.ThreadID{}) {
		used, err := i.Store.Count(ctx, a.name, 0, counterTTL)
		if err != nil {
			return h, fmt.Errorf("look at a limit: %w", err)
		}
		h.Limits = append(h.Limits, chat.Allowance{Of: a.what, Used: a.said(used), Most: a.String()})
	}
	return h, nil
}

// Waiting is the part of Home with somebody's waiting approvals.
func (i Inbox) Waiting(ctx context.Context, platform string, v chat.Visit) (chat.Home, error) {
	waits, err := i.waits(ctx, platform, v)
	if err != nil {
		return chat.Home{}, err
	}
	slices.SortFunc(waits, func(x, y chat.Waits) int {
		return cmp.Or(x.Deadline.Compare(y.Deadline), cmp.Compare(x.Thread.String(), y.Thread.String()), cmp.Compare(x.Number, y.Number))
	})
	listed := min(len(waits), mostListed)
	return chat.Home{Waiting: waits[:listed], Further: len(waits) - listed}, nil
}

// waits lists the approvals that wait for somebody in threads that they see.
func (i Inbox) waits(ctx context.Context, platform string, v chat.Visit) ([]chat.Waits, error) {
	calls := map[chat.ThreadID][]string{}
	for p, err := range i.Store.Pending(ctx, platform) {
		if err != nil {
			return nil, fmt.Errorf("list what waits: %w", err)
		}
		calls[p.Thread] = append(calls[p.Thread], p.Call)
	}
	var out []chat.Waits
	read := 0
	for thread, ids := range calls {
		if !v.Sees(thread) {
			continue
		}
		if read++; read > mostRead {
			break
		}
		tail, err := i.Store.Tail(ctx, thread, 0)
		if err != nil {
			return nil, fmt.Errorf("read thread: %w", err)
		}
		log := agent.NewLog(tail.Log, agent.Claim{})
		member := func(rule string) (bool, error) { return v.Member(ctx, thread, rule) }
		for _, id := range ids {
			voter := approval.Voter{User: v.Who, At: time.Now(), Member: member}
			if w, ok := voter.Waits(log.Thread, id); ok {
				w.Thread = thread
				out = append(out, w)
			}
		}
	}
	return out, nil
}

// said writes what is used of a limit.
func (a account) said(used int64) string {
	if a.Money > 0 {
		return chat.Money(float64(used) / micro)
	}
	return fmt.Sprint(used)
}
