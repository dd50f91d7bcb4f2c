package redis

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"nod/memory"
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

// Limits of the cache. Threads that wait for long are not among the latest ones, and
// cost nothing.
const (
	mostThreads = 512
	mostWeight  = 32 << 20
)

// logs caches the logs that this process held last, so that a claim loads only new
// entries. The head says whether a log is unchanged.
type logs struct {
	mu     sync.Mutex
	order  *list.List // of *remembered, the last used one first
	items  map[string]*list.Element
	weight int
}

// remembered is a log at rest.
type remembered struct {
	thread string
	shard  int
	log    []memory.Entry
	kept   any // memory.Run's Kept
	weight int // bytes of the log
	extra  int // bytes of kept
	past   past
	chain  memory.Head // the end of its audit chain then
	at     time.Time
}

func (l *logs) init() { l.order, l.items = list.New(), map[string]*list.Element{} }

// putLog caches a log from its base on; the least recently used ones make room.
func (l *logs) putLog(m *remembered) {
	all := len(m.log)
	m.log = current(m.log)
	m.weight = m.weight / max(all, 1) * len(m.log)
	switch {
	case len(m.log) != all:
		m.kept = nil // computed from entries that are gone
	case m.kept != nil:
		m.extra = memory.BareKept * len(m.log)
	}
	m.past.shorten(restSteps, restWeight)
	m.at = time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(l.items[m.thread])
	l.items[m.thread] = l.order.PushFront(m)
	l.weight += m.weight + m.extra + m.past.weight
	for l.weight > mostWeight || l.order.Len() > mostThreads {
		l.drop(l.order.Back())
	}
}

// takeLog removes a thread's log and returns it: the claimer continues it. Empty if
// there is none.
func (l *logs) takeLog(thread string) *remembered {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.items[thread]
	if e == nil {
		return &remembered{thread: thread}
	}
	m, _ := e.Value.(*remembered)
	l.drop(e)
	return m
}

// recentOf lists a shard's logs that were cached within a time.
func (l *logs) recentOf(shard int, young time.Duration) (out []*remembered) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.order.Front(); e != nil; e = e.Next() {
		if m, _ := e.Value.(*remembered); m.shard == shard && time.Since(m.at) < young {
			out = append(out, m)
		}
	}
	return out
}

func (l *logs) drop(e *list.Element) {
	if e == nil {
		return
	}
	m, _ := l.order.Remove(e).(*remembered)
	delete(l.items, m.thread)
	l.weight -= m.weight + m.extra + m.past.weight
}

// current returns the log from its base on.
func current(log []memory.Entry) []memory.Entry {
	base := baseOf(log)
	if base == 0 || len(log) == 0 || log[0].Seq >= base {
		return log[:len(log):len(log)]
	}
	return slices.Clone(memory.Since(log, base))
}

func baseOf(log []memory.Entry) (base uint64) {
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Trimmed:
			base = max(base, b.Before)
		case memory.Forgot:
			base = max(base, b.Before)
		}
	}
	return base
}
