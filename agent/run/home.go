package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/facts"
	"nod/agent/words"
	"nod/chat"
	"nod/memory"
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
	member := func(rule string) bool {
		in, err := v.Member(ctx, chat.ThreadID{}, rule)
		return err == nil && in
	}
	h.Tools = words.Offers(i.in(v.Direct).Tools, v.Who.ID, member)
	if i.Agent.Facts.Most > 0 && v.Direct != (chat.ThreadID{}) {
		book, err := memory.ReadBook(ctx, i.Store, i.Limits.Place(v.Direct))
		if err != nil {
			return h, err
		}
		h.Facts = facts.Lines(book)
	}
	limits, err := used(ctx, i.Store, i.Limits.accounts(time.Now(), platform, v.Who.ID, chat.ThreadID{}, member))
	for _, a := range limits {
		h.Limits = append(h.Limits, chat.Allowance{Of: a.what, Used: a.said(), Most: a.String()})
	}
	return h, err
}

// Waiting is the part of Home with somebody's waiting approvals. It looks into the
// threads with the nearest deadlines.
func (i Inbox) Waiting(ctx context.Context, platform string, v chat.Visit) (chat.Home, error) {
	threads, err := i.waitingThreads(ctx, platform, v)
	if err != nil {
		return chat.Home{}, err
	}
	var h chat.Home
	for k, t := range threads {
		if k >= mostRead {
			h.Unread += len(t)
			continue
		}
		mine, err := i.waits(ctx, t, v)
		if err != nil {
			return chat.Home{}, err
		}
		h.Waiting = append(h.Waiting, mine...)
	}
	slices.SortFunc(h.Waiting, func(x, y chat.Waits) int {
		return cmp.Or(x.Deadline.Compare(y.Deadline), cmp.Compare(x.Thread.String(), y.Thread.String()), cmp.Compare(x.Number, y.Number))
	})
	listed := min(len(h.Waiting), mostListed)
	h.Further, h.Waiting = len(h.Waiting)-listed, h.Waiting[:listed]
	return h, nil
}

// waitingThreads lists the undecided approvals that somebody sees, by thread: the
// nearest deadline first. A running thread has none, and comes first.
func (i Inbox) waitingThreads(ctx context.Context, platform string, v chat.Visit) ([][]memory.PendingApproval, error) {
	var all []memory.PendingApproval
	for p, err := range i.Store.Pending(ctx, platform) {
		if err != nil {
			return nil, fmt.Errorf("list what waits: %w", err)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y memory.PendingApproval) int {
		return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.Thread.String(), y.Thread.String()))
	})
	var out [][]memory.PendingApproval
	for _, p := range all {
		switch {
		case len(out) > 0 && out[len(out)-1][0].Thread == p.Thread:
			out[len(out)-1] = append(out[len(out)-1], p)
		case v.Sees(p.Thread):
			out = append(out, []memory.PendingApproval{p})
		}
	}
	return out, nil
}

// waits lists the approvals of one thread that wait for somebody.
func (i Inbox) waits(ctx context.Context, pending []memory.PendingApproval, v chat.Visit) (out []chat.Waits, err error) {
	thread := pending[0].Thread
	tail, err := i.Store.Tail(ctx, thread, 0)
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	log := agent.NewLog(tail.Log, agent.Claim{})
	member := func(rule string) (bool, error) { return v.Member(ctx, thread, rule) }
	for _, p := range pending {
		voter := approval.Voter{User: v.Who, At: time.Now(), Member: member}
		if w, ok := voter.Waits(log.Thread, p.Call); ok {
			w.Thread = thread
			out = append(out, w)
		}
	}
	return out, nil
}

// said writes what is used of a limit.
func (a Account) said() string {
	if a.Money > 0 {
		return chat.Money(float64(a.Used) / micro)
	}
	return fmt.Sprint(a.Used)
}

// textUnlisted tells a person that the list could not be made.
const textUnlisted = "I can't look that up right now. Try again in a moment."

// list posts the waiting approvals of a person.
func (d *driver) list(key string, act do.List) {
	d.begin(key, posts, func(ctx context.Context) outcome {
		text := chat.Text{Markdown: textUnlisted, Notice: true}
		err := d.safely(d.thread, "list what waits", func() error { return d.listed(ctx, act, &text) })
		if err != nil {
			d.Log.Warn("list what waits", "thread", d.thread.String(), "error", err)
		}
		act.Post.Post.Text = &text
		return d.makePost(ctx, act.Post)
	})
}

// listed writes the list: of approvals, or of the incidents of the channel that wait for
// their turns.
func (d *driver) listed(ctx context.Context, act do.List, text *chat.Text) error {
	switch {
	case act.Alerts && d.Held == nil:
		text.Markdown = words.HeldBack(nil, act.At)
	case act.Alerts:
		all, err := d.Held(ctx, d.thread)
		if err != nil {
			return err
		}
		text.Markdown = words.HeldBack(all, act.At)
	case d.Lobby != nil:
		visit := d.visit(ctx, act.Who)
		home, err := d.Lobby.Waiting(ctx, d.thread.Platform, visit)
		if err != nil {
			return err
		}
		*text = words.Listed(act, d.thread, home, visit.Link)
	}
	return nil
}

// visit is a person's view; in doubt it is this thread.
func (d *driver) visit(ctx context.Context, who chat.User) chat.Visit {
	if d.platform.Able().Sees {
		v, err := d.platform.Visit(ctx, d.thread, who)
		if err == nil {
			return v
		}
		d.Log.Warn("find out what somebody sees", "thread", d.thread.String(), "error", err)
	}
	return chat.Visit{
		Who: who, Sees: func(t chat.ThreadID) bool { return t == d.thread },
		Member: func(ctx context.Context, t chat.ThreadID, rule string) (bool, error) {
			in, err := d.platform.Members(ctx, t, rule, []chat.UserID{who.ID})
			return len(in) > 0, err
		},
	}
}
