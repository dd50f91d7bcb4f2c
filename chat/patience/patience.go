// Package patience is a limit of time that stands still during the wait for a person.
package patience

import (
	"context"
	"sync"
	"time"
)

// Limit ends a context after some time. It is safe for concurrent use.
type Limit struct {
	mu    sync.Mutex
	most  time.Duration
	timer *time.Timer
	waits int // for how many answers
	over  bool
}

// With gives a context that ends with this cause after a time, not counting the time
// between Pause and its result. After the last pause the limit begins again. stop ends
// it.
func With(ctx context.Context, most time.Duration, cause error) (_ context.Context, l *Limit, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l = &Limit{most: most, timer: time.AfterFunc(most, func() { cancel(cause) })}
	return ctx, l, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
		l.timer.Stop()
		cancel(context.Canceled)
	}
}

// Pause stops the clock until resume is called. A nil Limit has none.
func (l *Limit) Pause() (resume func()) {
	if l == nil {
		return func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits++
	l.timer.Stop()
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.waits--; l.waits == 0 && !l.over {
			l.timer.Reset(l.most)
		}
	})
}
