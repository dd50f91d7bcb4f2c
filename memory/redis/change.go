package redis

import (
	"strconv"
	"time"

	"nod/chat"
	"nod/memory"
)

// change is an addition to a log, with its effects, in the form of lua/effects.lua.
type change struct {
	thread  string
	durable bool // a replica must have it too: a side effect or a post follows
	base    uint64
	erase   bool
	taken   int      // the number of entries from the inbox
	entries []string // an entry without a time happens now
	refs    []string
	asks    []string // call, message, call, message, …
	settled []string
	audit   []memory.AuditLine  // a line without a time happens now
	hidden  []memory.HiddenLine // the same with pseudonyms, from the first linkAudit on

	behind memory.Head // the end of the chain at the last linkAudit
	when   time.Time   // the time of that
}

// change makes the change of the seen inbox entries and of new bodies.
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

// restoredChange makes the change of entries that the server had already.
func restoredChange(thread chat.ThreadID, seq uint64, raw []string) *change {
	c := &change{thread: thread.String(), taken: len(raw), entries: raw}
	c.effects(thread, decodeEntries(raw, seq+1))
	return c
}

func (c *change) effects(thread chat.ThreadID, entries []memory.Entry) {
	for _, e := range entries {
		switch e.Body.(type) {
		case memory.Started, memory.Held, memory.Step, memory.Asked:
			c.durable = true
		}
	}
	f := memory.EffectsOf(thread, entries)
	c.base, c.erase, c.settled = f.Base, f.Erase, f.Settled
	for _, ref := range f.Refs {
		c.refs = append(c.refs, ref.String())
	}
	for _, a := range f.Ask {
		c.asks = append(c.asks, a.Call, a.Ref.String())
	}
	c.audit = f.Audit
}

// linkAudit links the audit lines to the end of a chain, in the form of
// lua/effects.lua. now is a time that the server's clock has passed.
func (c *change) linkAudit(head memory.Head, now time.Time) (list []string, next memory.Head, err error) {
	if len(c.hidden) == 0 {
		return nil, head, nil
	}
	list = []string{strconv.FormatInt(now.UnixMilli(), 10), c.hidden[0].Thread.String(), head.String(), ""}
	for _, l := range c.hidden {
		if l.At.IsZero() {
			l.At = now
		}
		raw, following, err := head.Link(l.AuditLine)
		if err != nil {
			return nil, head, err
		}
		list, head = append(list, string(raw), string(l.Text)), following
	}
	list[3] = head.String()
	return list, head, nil
}

// withTimes gives the entries as the server has them: new ones get their time.
func (c *change) withTimes(at int64) []string {
	out := c.entries[:c.taken:c.taken]
	for _, e := range c.entries[c.taken:] {
		out = append(out, strconv.FormatInt(at, 10)+e)
	}
	return out
}

// args gives the script's arguments. audit comes from linkAudit.
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
