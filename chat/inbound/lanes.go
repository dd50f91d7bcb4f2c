package inbound

import (
	"context"
	"sync"
	"time"
)

// Lanes put events: those of one lane one after the other, in order of arrival, and
// others at the same time, up to a limit. An empty lane costs nothing.
type Lanes struct {
	mu    sync.Mutex
	last  map[string]chan struct{} // closed when the last of a lane is put
	slots chan struct{}
	all   sync.WaitGroup
}

// NewLanes makes lanes in which at most so many events are under way or wait.
func NewLanes(most int) *Lanes {
	return &Lanes{last: map[string]chan struct{}{}, slots: make(chan struct{}, most)}
}

// Run has do called once all before it in the lane have returned, with a
// context that ends when patience does; 0 is endless patience. Run itself waits
// only when very many are under way already. When ctx ends first, do is not
// called.
func (l *Lanes) Run(ctx context.Context, lane string, patience time.Duration, do func(context.Context)) {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	cancel := func() {}
	if patience > 0 {
		ctx, cancel = context.WithTimeout(ctx, patience)
	}
	mine := make(chan struct{})
	l.mu.Lock()
	before := l.last[lane]
	l.last[lane] = mine
	l.mu.Unlock()
	l.all.Go(func() {
		defer func() { <-l.slots }()
		defer cancel()
		defer l.leave(lane, mine)
		if before != nil {
			<-before
		}
		do(ctx)
	})
}

// Do is Run for callers that need the result. A running job must not call it: it would
// hold a slot while it waits for another.
func (l *Lanes) Do(ctx context.Context, lane string, patience time.Duration, do func(context.Context) error) error {
	done := make(chan error, 1)
	l.Run(ctx, lane, patience, func(ctx context.Context) { done <- do(ctx) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Behind waits until all present jobs of a lane have returned. It takes no slot, so a
// job of one lane may wait for another lane when no slot is free.
func (l *Lanes) Behind(ctx context.Context, lane string) error {
	l.mu.Lock()
	before := l.last[lane]
	l.mu.Unlock()
	if before == nil {
		return nil
	}
	select {
	case <-before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lanes) leave(lane string, mine chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last[lane] == mine {
		delete(l.last, lane)
	}
	close(mine)
}

// Wait returns when nothing is under way.
func (l *Lanes) Wait() { l.all.Wait() }
