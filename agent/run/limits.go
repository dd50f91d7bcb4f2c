package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/view"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Limit is a day's limit (UTC), in tokens or in money; the zero Limit is none.
type Limit struct {
	Tokens int64
	Money  float64
}

// Limits say how much may be used. They are looked at before each call of the
// model, and counted after it, in the store, so that replicas share them. A call
// that was counted by no one, because the process died first, is not counted.
type Limits struct {
	Person, Thread, All Limit
	Raise               []Raise
	Channel             func(chat.ThreadID) string // the id of a thread's channel, for Raise
	Prices              *view.Prices               // for limits in money
}

// Place is the channel of a thread, as [agent.Agent.Rooms] and the facts have it.
func (l Limits) Place(thread chat.ThreadID) string {
	if l.Channel == nil {
		return thread.Platform + ":" + thread.Channel
	}
	return thread.Platform + ":" + l.Channel(thread)
}

// Raise gives somebody more than others have, or whoever asks in a channel: the largest
// of those that hold.
type Raise struct {
	For            []string  // user:ID, group:ID, role:ID or channel:ID
	Person, Thread Limit     // the zero Limit raises nothing
	Until          time.Time // from then on it does not hold; zero: it always does
}

// counterTTL keeps a day's counter over the end of its day.
const counterTTL = 48 * time.Hour

// micro is how small a unit of money is counted.
const micro = 1e6

// Account is one limit that a turn counts against, and its used part of today, where that
// was looked up: tokens, or millionths of money.
type Account struct {
	Limit
	Of   string // person, thread or all
	Used int64
	name string // of its counter
	what string // whose limit it is, for the person
}

// accounts lists the limits that concern a turn. member may be nil.
func (d *driver) accounts(by chat.UserID, member func(rule string) bool) []Account {
	return d.Limits.accounts(d.Host.Now(), d.thread.Platform, by, d.thread, member)
}

// raised is a limit for somebody in a thread.
func (l Limits) raised(limit Limit, of func(Raise) Limit, now time.Time, holds func(rule string) bool) Limit {
	for _, r := range l.Raise {
		more := of(r)
		if limit != (Limit{}) && more.most() > limit.most() && (r.Until.IsZero() || now.Before(r.Until)) && slices.ContainsFunc(r.For, holds) {
			limit = more
		}
	}
	return limit
}

// accounts lists the limits that concern a person now, and a thread, unless it is
// zero. member says whether the person is in a group or role; without it nobody is.
func (l Limits) accounts(now time.Time, platform string, by chat.UserID, thread chat.ThreadID, member func(rule string) bool) []Account {
	holds := func(rule string) bool {
		kind, id, _ := strings.Cut(rule, ":")
		switch kind {
		case "user":
			return id == string(by)
		case "channel":
			return l.Channel != nil && thread != (chat.ThreadID{}) && id == l.Channel(thread)
		}
		return member != nil && member(rule)
	}
	day := now.UTC().Format(time.DateOnly)
	var out []Account
	add := func(limit Limit, of, key, what string) {
		if limit != (Limit{}) {
			out = append(out, Account{Limit: limit, Of: of, name: "used/" + day + "/" + of + key, what: what})
		}
	}
	add(l.raised(l.Person, func(r Raise) Limit { return r.Person }, now, holds), "person", "/"+platform+"/"+string(by), "what one person may use in a day")
	if thread != (chat.ThreadID{}) {
		add(l.raised(l.Thread, func(r Raise) Limit { return r.Thread }, now, holds), "thread", "/"+thread.String(), "what this thread may use in a day")
	}
	add(l.All, "all", "", "what I may use in a day")
	return out
}

// ForgetUsed erases what a person, platform:id, used of their limits, and the count of
// their schedules.
func ForgetUsed(ctx context.Context, counters memory.Counters, now time.Time, who string) error {
	platform, id, _ := strings.Cut(who, ":")
	l := Limits{Person: Limit{Tokens: 1}}
	names := []string{schedulesOf(platform, chat.UserID(id))}
	for _, day := range []time.Time{now, now.Add(-24 * time.Hour)} {
		for _, a := range l.accounts(day, platform, chat.UserID(id), chat.ThreadID{}, nil) {
			names = append(names, a.name)
		}
	}
	for _, name := range names {
		used, err := counters.Count(ctx, name, 0, counterTTL)
		if err == nil && used > 0 {
			_, err = counters.Count(ctx, name, -used, counterTTL)
		}
		if err != nil {
			return fmt.Errorf("forget what was used: %w", err)
		}
	}
	return nil
}

// Shown is the limit for people, and its rest.
func (a Account) Shown() (limit, left string) {
	if a.Money > 0 {
		return a.String(), chat.Money(max(0, a.Money-float64(a.Used)/micro))
	}
	return a.String(), fmt.Sprintf("%d tokens", max(0, a.Tokens-a.Used))
}

// Share is the used part, from 0 to 1 and above.
func (a Account) Share() float64 { return float64(a.Used) / float64(max(1, a.most())) }

// Used looks up what is used of the limits that concern a person and a thread.
func (l Limits) Used(ctx context.Context, counters memory.Counters, now time.Time, platform string, by chat.UserID, thread chat.ThreadID) ([]Account, error) {
	return used(ctx, counters, l.accounts(now, platform, by, thread, nil))
}

// used looks up what is used of limits.
func used(ctx context.Context, counters memory.Counters, of []Account) ([]Account, error) {
	for i, a := range of {
		n, err := counters.Count(ctx, a.name, 0, counterTTL)
		if err != nil {
			return nil, fmt.Errorf("look at a limit: %w", err)
		}
		of[i].Used = n
	}
	return of, nil
}

// overdrawn says, in words for the person, which limit is reached; "" when none
// is. A limit that can't be looked up is waited for.
func (d *driver) overdrawn(ctx context.Context, by chat.UserID) (string, error) {
	member := func(rule string) bool { return d.groups(ctx, []chat.UserID{by}, []string{rule})[by][rule].In }
	for i, a := range d.accounts(by, nil) {
		var used int64
		err := d.patiently(ctx, func() (err error) {
			used, err = d.Store.Count(ctx, a.name, 0, counterTTL)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("look at a limit: %w", err)
		}
		if used >= a.most() { // for most people no group need be asked
			a = d.accounts(by, member)[i]
		}
		if used >= a.most() {
			if d.reached.Add(a.name) {
				d.Log.Warn("a limit is used up for today", "limit", a.Of, "most", a.String(), "thread", d.thread.String(), "user", string(by))
			}
			return fmt.Sprintf("I can't go on: the limit of %s is reached (%s). It starts afresh at midnight UTC; whoever runs me can raise it under `limits`.", a.what, a), nil
		}
	}
	return "", nil
}

// most is the limit in the units of its counter.
func (l Limit) most() int64 {
	if l.Money > 0 {
		return int64(l.Money * micro)
	}
	return l.Tokens
}

// String is the limit for people.
func (a Account) String() string {
	if a.Money > 0 {
		return chat.Money(a.Money)
	}
	return fmt.Sprintf("%d tokens", a.Tokens)
}

// spend counts the usage of a call. If the provider reports none, it is estimated.
func (d *driver) spend(ctx context.Context, by chat.UserID, req llm.Request, r llm.Response) {
	u := r.Usage
	if u.Prompt+u.Completion == 0 {
		u = d.estimate(req, r)
	}
	for _, a := range d.accounts(by, nil) {
		n := int64(u.Prompt + u.Completion)
		if a.Money > 0 {
			n = int64(d.Limits.Prices.Cost(u, d.Agent.As(req.Model).Model) * micro)
		}
		err := d.patiently(ctx, func() error {
			_, err := d.Store.Count(background, a.name, max(1, n), counterTTL)
			return err
		})
		if err != nil {
			d.Log.Error("count what was used", "thread", d.thread.String(), "error", err)
		}
	}
}

func (d *driver) estimate(req llm.Request, r llm.Response) llm.Usage {
	var u llm.Usage
	count := d.Agent.As(req.Model).Count
	for _, m := range req.Messages {
		u.Prompt += count(m.Text)
		for _, c := range m.Calls {
			u.Prompt += count(c.Args)
		}
	}
	for _, t := range req.Tools {
		u.Prompt += count(t.Description + string(t.Parameters))
	}
	u.Completion = count(r.Text + r.Reasoning)
	for _, c := range r.Calls {
		u.Completion += count(c.Args)
	}
	return u
}
