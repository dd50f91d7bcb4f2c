package agent

import (
	"cmp"
	"slices"
	"time"

	"nod/memory"
)

// forget erases the thread once nothing runs.
func (d *decision) forget() Action {
	if d.s.open != nil {
		return nil
	}
	for _, c := range d.s.commands {
		if c.word == "forget" {
			return Record{[]memory.Body{d.forgot(c)}}
		}
	}
	return nil
}

func (d *decision) forgot(c *command) memory.Forgot {
	return memory.Forgot{By: c.From, Before: c.seq + 1, Horizon: c.Sent, Ref: c.Ref}
}

// forget makes the state that of a thread in which nothing was said before.
func (s *state) forget(seq uint64, b memory.Forgot) {
	kept := *s
	*s = *fold(nil)
	s.last, s.now, s.active, s.heard = kept.last, kept.now, kept.active, kept.heard
	s.horizon = b.Horizon
	if kept.horizon.After(s.horizon) {
		s.horizon = kept.horizon
	}
	s.asks, s.muted = kept.asks, kept.muted
	s.forgot = append(s.forgot, forgotten{b, seq})
	older := func(m *message) bool { return m.seq < b.Before || s.beyond(m.Sent) }
	s.waiting = slices.DeleteFunc(append(kept.waiting, kept.early...), older) // of no card any more
	slices.SortStableFunc(s.waiting, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
	s.commands = slices.DeleteFunc(kept.commands, func(c *command) bool { return older(&c.message) })
	for _, m := range s.waiting {
		s.people[m.From.ID] = true
		s.callers = append(s.callers, m.From.ID)
	}
	for _, c := range s.commands { // words that came after, and what was said to them
		if ref, ok := kept.posted[c.notice()]; ok {
			s.posted[c.notice()] = ref
		}
		if c.word == "tools off" || c.word == "tools on" {
			s.switchTool(c.word, c.arg)
		}
	}
}

// beyond says whether a message was sent before the thread was last forgotten,
// whenever it came: it is nobody's message any more.
func (s *state) beyond(sent time.Time) bool { return !sent.IsZero() && sent.Before(s.horizon) }
