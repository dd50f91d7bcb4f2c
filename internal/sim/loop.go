package sim

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// epoch is when virtual time begins.
var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// loop is the one thing that runs: it holds the time, all that is due, and the
// one random source, which picks what goes on next.
type loop struct {
	since time.Duration // virtual time, since the epoch
	rnd   *rand.Rand
	due   []task
	later timers
	order uint64 // of timers, so that equal times keep it
	steps int
	cur   *routine // that runs now; nil: the loop itself
}

// task is something to do, on behalf of a process or (nil) of the world.
type task struct {
	p   *process
	run func()
}

type timer struct {
	at    time.Duration
	order uint64
	task
}

func newLoop(seed uint64) *loop {
	return &loop{rnd: rand.New(rand.NewPCG(seed, 0x6e6f64))}
}

func (l *loop) now() time.Time { return epoch.Add(l.since) }

// soon has f run as one of all that is due now.
func (l *loop) soon(p *process, f func()) { l.due = append(l.due, task{p, f}) }

// after has f run d later. A task of a process is dropped when it dies, and
// waits while it is paused.
func (l *loop) after(d time.Duration, p *process, f func()) {
	l.order++
	heap.Push(&l.later, timer{l.since + max(0, d), l.order, task{p, f}})
}

// at is after, for a time of the world.
func (l *loop) at(t time.Time, p *process, f func()) { l.after(t.Sub(l.now()), p, f) }

// step does one thing that is due, and moves on the time when nothing is. It
// reports whether there was anything.
func (l *loop) step() bool {
	for {
		for len(l.later) > 0 && l.later[0].at <= l.since {
			l.due = append(l.due, heap.Pop(&l.later).(timer).task)
		}
		if len(l.due) > 0 {
			break
		}
		if len(l.later) == 0 {
			return false
		}
		l.since = l.later[0].at
	}
	t := l.pick()
	switch {
	case t.p == nil:
	case t.p.dead:
		return true
	case t.p.paused:
		t.p.held = append(t.p.held, t)
		return true
	}
	l.steps++
	t.run()
	return true
}

// pick takes one of all that is due.
func (l *loop) pick() task {
	i := 0
	if n := len(l.due); n > 1 {
		i = l.rnd.IntN(n)
	}
	t, last := l.due[i], len(l.due)-1
	l.due[i], l.due[last] = l.due[last], task{}
	l.due = l.due[:last]
	return t
}

// chance is true with probability p.
func (l *loop) chance(p float64) bool { return p > 0 && l.rnd.Float64() < p }

// between is a time from a to b, more often a short one.
func (l *loop) between(a, b time.Duration) time.Duration {
	f := l.rnd.Float64()
	return a + time.Duration(f*f*float64(b-a))
}

// timers is a heap.
type timers []timer

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	if t[i].at != t[j].at {
		return t[i].at < t[j].at
	}
	return t[i].order < t[j].order
}

func (t timers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timers) Push(x any)   { *t = append(*t, x.(timer)) }

func (t *timers) Pop() any {
	old := *t
	x := old[len(old)-1]
	old[len(old)-1] = timer{}
	*t = old[:len(old)-1]
	return x
}
