package sim

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/internal/storetest"
)

// The model keeps the contract that the real stores keep: it passes their suite.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, o storetest.Options) storetest.Instance {
		g := &real{}
		s := newServer(g)
		s.keep, s.quota = o.Keep, o.Quota
		if o.Lease > 0 {
			s.lease = o.Lease
		}
		return instance(g, s)
	})
}

func instance(g *real, s *server) storetest.Instance {
	g.mu.Lock()
	h := s.open(rand.Text(), g)
	g.mu.Unlock()
	again := func(*testing.T) storetest.Instance { return instance(g, s) }
	return storetest.Instance{
		Store: h, Reopen: again, Replica: again,
		Crash: func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			h.ail()
		},
	}
}

// real is real time, and goroutines that do one thing at a time.
type real struct{ mu sync.Mutex }

func (*real) now() time.Time    { return time.Now() }
func (*real) word() string      { return strings.ToLower(rand.Text()) }
func (*real) fraction() float64 { return 0 }

func (g *real) later(d time.Duration, f func()) {
	time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		f()
	})
}

func (g *real) ask(_ context.Context, _ bool, do func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
	return nil
}

func (g *real) here(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *real) rest(ctx context.Context, begin func(wake func())) {
	woken := make(chan struct{}, 1)
	g.mu.Lock()
	begin(func() { woken <- struct{}{} })
	g.mu.Unlock()
	select {
	case <-woken:
	case <-ctx.Done():
	}
}

// tell does not wait for who hears: it may be called with the lock held.
func (g *real) tell(f func()) {
	go func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		f()
	}()
}
