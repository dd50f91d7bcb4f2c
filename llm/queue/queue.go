// Package queue limits the model calls that run at once, for a model that
// computes one after the other, or a provider that counts them.
//
// A waiting call stands in a lane, and the lanes are served in turn. So many calls of
// one lane hold up that lane and no other. The queue stands in front of the model's
// own timeout, so waiting costs a call no time. It knows nothing of the requests.
package queue

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"nod/llm"
)

// Queue is an [llm.Model] that holds calls back until there is room for them.
// It is safe for concurrent use.
type Queue struct {
	*Lanes
	model llm.Model
}

var _ llm.Model = (*Queue)(nil)

// New makes a queue in front of a model that takes so many calls at once.
func New(model llm.Model, parallel int) *Queue { return &Queue{NewLanes(parallel), model} }

// Complete implements [llm.Model]. While it waits it ends with ctx alone, and
// the error is that of ctx.
func (q *Queue) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	if err := q.Enter(ctx, req.Fair); err != nil {
		return llm.Response{}, fmt.Errorf("wait for the model: %w", err)
	}
	defer q.Leave()
	return q.model.Complete(ctx, req, watch)
}

// Lanes holds the calls that wait for room. It is safe for concurrent use.
type Lanes struct {
	mu      sync.Mutex
	free    int
	lanes   map[string]*lane
	turns   *list.List // of the *lane in which somebody waits, the next one first
	waiting int
}

// lane is who waits of those who share a name.
type lane struct {
	name string
	who  *list.List // of *waiter
	turn *list.Element
}

type waiter struct {
	lane  *lane
	place *list.Element // nil once it was let in
	in    chan struct{}
}

// NewLanes makes lanes in front of something that has room for so many.
func NewLanes(free int) *Lanes {
	return &Lanes{free: free, lanes: map[string]*lane{}, turns: list.New()}
}

// Waiting says how many wait.
func (q *Lanes) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Enter waits in a lane for room, which the caller gives back with Leave. The error
// is that of ctx.
func (q *Lanes) Enter(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	if q.free > 0 { // then nobody waits
		q.free--
		q.mu.Unlock()
		return nil
	}
	w := q.line(name)
	q.mu.Unlock()
	select {
	case <-w.in:
		return nil
	case <-ctx.Done():
		q.giveUp(w)
		return ctx.Err()
	}
}

// line puts somebody at the end of a lane.
func (q *Lanes) line(name string) *waiter {
	l := q.lanes[name]
	if l == nil {
		l = &lane{name: name, who: list.New()}
		l.turn = q.turns.PushBack(l)
		q.lanes[name] = l
	}
	w := &waiter{lane: l, in: make(chan struct{})}
	w.place = l.who.PushBack(w)
	q.waiting++
	return w
}

// giveUp takes somebody out of their lane. Who was let in at the same moment
// gives the room to the next.
func (q *Lanes) giveUp(w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.place == nil {
		q.next()
		return
	}
	q.remove(w)
}

func (q *Lanes) remove(w *waiter) {
	w.lane.who.Remove(w.place)
	w.place = nil
	q.waiting--
	if w.lane.who.Len() == 0 {
		q.turns.Remove(w.lane.turn)
		delete(q.lanes, w.lane.name)
	}
}

// Leave gives room back.
func (q *Lanes) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

// next gives room that came free to the first of the lane whose turn it is, and
// puts that lane behind the others.
func (q *Lanes) next() {
	front := q.turns.Front()
	if front == nil {
		q.free++
		return
	}
	l, _ := front.Value.(*lane)
	w, _ := l.who.Front().Value.(*waiter)
	q.turns.MoveToBack(front)
	q.remove(w)
	close(w.in)
}
