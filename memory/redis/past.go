package redis

import (
	"slices"
	"time"

	"nod/memory"
	"nod/memory/recent"
)

// past is this process's part of a log's history: its heads, and the entries from one
// to the next. If a server comes back without its last writes, its head is one of
// these, and the later entries can be restored.
type past struct {
	steps  []step
	weight int
}

// step is one change of a log.
type step struct {
	head string
	seq  uint64   // last Seq under this head
	raw  []string // entries since the step before, as the server has them; unknown for the first step
}

// Limits of the known past of a held thread, and of one at rest.
const (
	heldSteps, restSteps   = 1000, 16
	heldWeight, restWeight = 4 << 20, 256 << 10
)

func (p *past) begin(head string, seq uint64) { *p = past{steps: []step{{head: head, seq: seq}}} }

func (p *past) add(head string, seq uint64, raw []string) {
	p.steps = append(p.steps, step{head, seq, raw})
	p.weight += weightOf(raw)
	p.shorten(heldSteps, heldWeight)
}

// shorten leaves out the oldest steps.
func (p *past) shorten(steps, weight int) {
	for len(p.steps) > 1 && (len(p.steps) > steps || p.weight > weight) {
		p.weight -= weightOf(p.steps[1].raw)
		p.steps = p.steps[1:]
		p.steps[0].raw = nil
	}
}

func (p *past) last() step { return p.steps[len(p.steps)-1] }

// heads gives the heads, the oldest first.
func (p *past) heads() []string {
	out := make([]string, 0, len(p.steps))
	for _, s := range p.steps {
		out = append(out, s.head)
	}
	return out
}

// since gives the last Seq under an earlier head, and the entries after it; ok only if
// the head is an earlier one. An absent log is the beginning of a log whose whole past
// is known.
func (p *past) since(head string) (seq uint64, raw []string, ok bool) {
	if len(p.steps) == 0 {
		return 0, nil, false
	}
	i := slices.IndexFunc(p.steps, func(s step) bool { return s.head == head })
	if i < 0 && head == "" && p.steps[0].seq == 0 {
		i = 0
	}
	if i < 0 || i == len(p.steps)-1 {
		return 0, nil, false
	}
	for _, s := range p.steps[i+1:] {
		raw = append(raw, s.raw...)
	}
	return p.steps[i].seq, raw, true
}

// remembered is this process's knowledge of a log at rest. The head says whether the log
// is unchanged.
type remembered struct {
	thread string
	shard  int
	log    []memory.Entry
	kept   any // memory.Run's Kept
	past   past
	chain  memory.Head // the end of its audit chain then
	at     time.Time
}

// remember caches a log.
func (s *Store) remember(m remembered) {
	m.past.shorten(restSteps, restWeight)
	l := recent.Log{Thread: m.thread, Entries: m.log, Kept: m.kept, Bytes: m.past.weight}
	m.log, m.kept, m.at = nil, nil, time.Now()
	l.Beside = m
	s.recent.Put(l)
}

// take removes a thread's log from the cache. It has no entries if it was not there.
func (s *Store) take(thread string) *remembered {
	l := s.recent.Take(thread)
	m, _ := l.Beside.(remembered)
	m.thread, m.log, m.kept = thread, l.Entries, l.Kept
	return &m
}

// recentOf lists a shard's logs that were cached within a time, without their entries.
func (s *Store) recentOf(shard int, young time.Duration) (out []*remembered) {
	for _, l := range s.recent.All() {
		if m, ok := l.Beside.(remembered); ok && m.shard == shard && time.Since(m.at) < young {
			out = append(out, &m)
		}
	}
	return out
}
