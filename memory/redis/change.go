package redis

import (
	"strconv"

	"nod/chat"
	"nod/memory"
)

// change is what is appended to a log, and what that changes beside it, as
// lua/effects.lua wants it.
type change struct {
	thread  string
	durable bool // a replica has to have it too
	base    uint64
	erase   bool
	taken   int      // how many of the entries come from the inbox
	entries []string // those without a time happen now
	refs    []string
	asks    []string // call, message, call, message, …
	settled []string
	audit   []string // time or nothing, line, …
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
	return c, c.effects(h.id, entries)
}

// againOf makes the change of entries that the server had already.
func againOf(thread chat.ThreadID, seq uint64, raw []string) (*change, error) {
	c := &change{thread: thread.String(), taken: len(raw), entries: raw}
	return c, c.effects(thread, decodeEntries(raw, seq+1))
}

func (c *change) effects(thread chat.ThreadID, entries []memory.Entry) error {
	for _, e := range entries {
		if _, ok := e.Body.(memory.Started); ok {
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
	for _, l := range f.Audit {
		at := ""
		if !l.At.IsZero() {
			at = strconv.FormatInt(l.At.UnixMilli(), 10)
		}
		raw, err := encodeAudit(l)
		if err != nil {
			return err
		}
		c.audit = append(c.audit, at, raw)
	}
	return nil
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

// args gives the arguments.
func (c *change) args(s *Store, me, token, seen, own string) []any {
	erase := "0"
	if c.erase {
		erase = "1"
	}
	args := []any{c.thread, token, seen, own, me, s.lease.Milliseconds(), c.base, erase, c.taken}
	for _, list := range [][]string{c.entries, c.refs, c.asks, c.settled, c.audit} {
		args = append(args, len(list))
		for _, v := range list {
			args = append(args, v)
		}
	}
	return args
}
