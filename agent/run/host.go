package run

import (
	"context"
	"sync"
	"time"
)

// Host is the ground on which a process stands: its clock and its goroutines. A
// simulation replaces it, to run many processes one goroutine at a time, in virtual
// time and in an order that it chooses. Everything that waits in this package waits in
// a Signal, in the store, in a platform, in the model or in a tool.
type Host interface {
	// Now is the time, for pauses and durations; deadlines are the store's.
	Now() time.Time
	// Go begins f beside the caller.
	Go(f func())
	// Signal makes a signal that is not set.
	Signal() Signal
	// After has f called when ctx is done, unless stop is called before.
	After(ctx context.Context, f func()) (stop func() bool)
}

// Signal lets one goroutine wait for others.
type Signal interface {
	// Set ends the present Wait, or else the next one. It does not block.
	Set()
	// Wait blocks until Set was called since the last Wait, or until it is that
	// late; a zero time is never.
	Wait(until time.Time)
}

// Goroutines is the Host of a real process.
type Goroutines struct{}

// Now implements Host.
func (Goroutines) Now() time.Time { return time.Now() }

// Go implements Host. Whatever is begun talks to the store or to some server.
func (Goroutines) Go(f func()) {
	go func() {
		f()
	}()
}

// Signal implements Host.
func (Goroutines) Signal() Signal { return flag(make(chan struct{}, 1)) }

// After implements Host.
func (Goroutines) After(ctx context.Context, f func()) func() bool { return context.AfterFunc(ctx, f) }

type flag chan struct{}

// Set implements Signal.
func (f flag) Set() {
	select {
	case f <- struct{}{}:
	default:
	}
}

// Wait implements Signal.
func (f flag) Wait(until time.Time) {
	if until.IsZero() {
		<-f
		return
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-f:
	case <-timer.C:
	}
}

// group waits for the goroutines that it began.
type group struct {
	host Host
	mu   sync.Mutex
	n    int
	idle Signal
}

func newGroup(h Host) *group { return &group{host: h, idle: h.Signal()} }

// Go begins f beside the caller.
func (g *group) Go(f func()) {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
	g.host.Go(func() {
		defer func() {
			g.mu.Lock()
			g.n--
			over := g.n == 0
			g.mu.Unlock()
			if over {
				g.idle.Set()
			}
		}()
		f()
	})
}

// Wait waits until nothing goes on any more. One goroutine calls it.
func (g *group) Wait() { g.waitUntil(time.Time{}) }

// waitUntil waits so long at the most; a zero time is for ever. over says that nothing goes
// on any more.
func (g *group) waitUntil(until time.Time) (over bool) {
	for {
		g.mu.Lock()
		n := g.n
		g.mu.Unlock()
		if n == 0 || !until.IsZero() && !g.host.Now().Before(until) {
			return n == 0
		}
		g.idle.Wait(until)
	}
}
