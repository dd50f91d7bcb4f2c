package redis

import (
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// change is what is appended to a log, and what that changes beside it, as
// lua/effects.lua wants it.
type change struct {
	thread  string
	durable bool // a replica has to have it too: something is done or posted by it
	base    uint64
	erase   bool
	taken   int      // how many of the entries come from the inbox
	entries []string // those without a time happen now
	refs    []string
	asks    []string // call, message, call, message, …
	settled []string
	audit   []memory.AuditLine // those without a time happen now

	behind memory.Head // the end of the chain that the audit lines were last linked to
	when   time.Time   // and what time it was then
}

// change makes the change of what the run has seen of the inbox, and of bodies
// that come now.
func (h *held) change(bodies []memory.Body) (*change, error) {
	c := &change{thread: h.thread, taken: len(h.inbox), entries: h.inbox[:len(h.inbox):len(h.inbox)]}
	entries := h.seen[:len(h.seen):len(h.seen)]
	for _, b := range bodies {
		raw, err := encode(b)
		if err != nil {
			return nil, err
		}
		c.entries = append(c.entries, raw)
		entries = append(entries, memory.Entry{Seq: h.past.last().seq + uint64(len(c.entries)), Body: b})
	}
	c.effects(h.id, entries)
	return c, nil
}

// againOf makes the change of entries that the server had already.
func againOf(thread chat.ThreadID, seq uint64, raw []string) *change {
	c := &change{thread: thread.String(), taken: len(raw), entries: raw}
	c.effects(thread, decodeEntries(raw, seq+1))
	return c
}

func (c *change) effects(thread chat.ThreadID, entries []memory.Entry) {
	for _, e := range entries {
		switch e.Body.(type) {
		case memory.Started, memory.Step, memory.Asked:
			c.durable = true
		}
	}
	f := memory.EffectsOf(thread, entries)
	c.base, c.erase, c.settled = f.Base, f.Erase, f.Settled
	for _, ref := range f.Refs {
		// A message elsewhere could not be found from a reaction anyway.
		if ref.Platform == thread.Platform && ref.Channel == thread.Channel {
			c.refs = append(c.refs, ref.String())
		}
	}
	for _, a := range f.Ask {
		c.asks = append(c.asks, a.Call, a.Ref.String())
	}
	c.audit = f.Audit
}

// linked gives the audit lines as they follow the end of a chain, at a time that
// the server's clock has passed, as lua/effects.lua wants them.
func (c *change) linked(head memory.Head, now time.Time) (list []string, next memory.Head, err error) {
	if len(c.audit) == 0 {
		return nil, head, nil
	}
	list = []string{strconv.FormatInt(now.UnixMilli(), 10), head.String(), ""}
	for _, l := range c.audit {
		if l.At.IsZero() {
			l.At = now
		}
		raw, following, err := head.Link(l)
		if err != nil {
			return nil, head, err
		}
		list, head = append(list, string(raw)), following
	}
	list[2] = head.String()
	return list, head, nil
}

// stamped gives the entries as the server has them, now that those which had no
// time have it.
func (c *change) stamped(at int64) []string {
	out := c.entries[:c.taken:c.taken]
	for _, e := range c.entries[c.taken:] {
		out = append(out, strconv.FormatInt(at, 10)+e)
	}
	return out
}

// args gives the arguments, with the audit lines as linked has them.
func (c *change) args(s *Store, me, token, seen, own string, audit []string) []any {
	erase := "0"
	if c.erase {
		erase = "1"
	}
	args := []any{c.thread, token, seen, own, me, s.lease.Milliseconds(), c.base, erase, c.taken}
	for _, list := range [][]string{c.entries, c.refs, c.asks, c.settled, audit} {
		args = append(args, len(list))
		for _, v := range list {
			args = append(args, v)
		}
	}
	return args
}
