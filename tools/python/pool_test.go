//go:build linux

package python

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A thread that has many calls leaves room for those of others.
func TestThreadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Python{o: Options{}.withDefaults(), closing: make(chan struct{}), calls: make(chan struct{}, 2), sessions: map[string]*session{}}
		ctx, stop := context.WithCancel(t.Context())
		first, err := p.enter(ctx, "busy")
		if err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 8)
		for range cap(waited) {
			go func() {
				s, err := p.enter(ctx, "busy")
				if err == nil {
					p.leave("busy", s)
				}
				waited <- err
			}()
		}
		synctest.Wait()
		got := make(chan error, 1)
		go func() {
			s, err := p.enter(t.Context(), "quiet")
			if err == nil {
				p.leave("quiet", s)
			}
			got <- err
		}()
		synctest.Wait()
		select {
		case err := <-got:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("another thread waits for all calls of a busy one")
		}
		stop() // the turn was stopped
		for range cap(waited) {
			if err := <-waited; !errors.Is(err, context.Canceled) {
				t.Errorf("a call that waited: %v", err)
			}
		}
		p.leave("busy", first)
		synctest.Wait()
		if len(p.sessions) != 0 || len(p.calls) != 0 {
			t.Errorf("%d sessions and %d places are left", len(p.sessions), len(p.calls))
		}
	})
}
