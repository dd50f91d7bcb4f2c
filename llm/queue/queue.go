// Package queue limits the model calls that run at once, for a model that
// computes one after the other, or a provider that counts them.
//
// A waiting call stands in a lane, and the lanes are served in turn. So many calls of
// one lane hold up that lane and no other. The queue stands in front of the model's
// own timeout, so waiting costs a call no time. It knows nothing of the requests.
package queue

import (
	"context"
	"fmt"
	"slices"
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
	waiting int
	lanes   map[string][]chan struct{} // one for each that waits, closed once it is let in
	turns   []string                   // the lanes in which somebody waits, the next one first
}

// NewLanes makes lanes in front of something that has room for so many.
func NewLanes(free int) *Lanes { return &Lanes{free: free, lanes: map[string][]chan struct{}{}} }

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
	in := q.line(name)
	select {
	case <-in:
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		if !q.remove(name, in) { // it was let in at the same moment
			q.next()
		}
		return ctx.Err()
	}
}

// line puts somebody at the end of a lane. Where there is room they are in at once: then
// nobody waits.
func (q *Lanes) line(name string) (in chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	in = make(chan struct{})
	if q.free > 0 {
		q.free--
		close(in)
		return in
	}
	if len(q.lanes[name]) == 0 {
		q.turns = append(q.turns, name)
	}
	q.lanes[name] = append(q.lanes[name], in)
	q.waiting++
	return in
}

// remove takes somebody out of their lane, and says whether they were in it.
func (q *Lanes) remove(name string, who chan struct{}) bool {
	at := slices.Index(q.lanes[name], who)
	if at < 0 {
		return false
	}
	q.waiting--
	if q.lanes[name] = slices.Delete(q.lanes[name], at, at+1); len(q.lanes[name]) == 0 {
		delete(q.lanes, name)
		q.turns = slices.DeleteFunc(q.turns, func(turn string) bool { return turn == name })
	}
	return true
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
	if len(q.turns) == 0 {
		q.free++
		return
	}
	name := q.turns[0]
	q.turns = append(q.turns[1:], name)
	in := q.lanes[name][0]
	q.remove(name, in)
	close(in)
}
