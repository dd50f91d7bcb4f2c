package outbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is a platform's rule: at most n calls in any span.
type limit struct {
	n    int
	span time.Duration
}

// platform counts calls the way platforms say that they do, and those that
// came too soon.
type platform struct {
	limits map[string]limit

	mu      sync.Mutex
	calls   map[string][]time.Time
	log     []string
	refused int
}

func newPlatform(limits map[string]limit) *platform {
	return &platform{limits: limits, calls: map[string][]time.Time{}}
}

func (p *platform) call(what string, latency time.Duration, buckets ...string) func(context.Context) error {
	return func(context.Context) error {
		p.mu.Lock()
		now := time.Now()
		for _, b := range buckets {
			l, ok := p.limits[b]
			if ok && p.within(b, now, l.span) >= l.n {
				p.refused++
			}
			p.calls[b] = append(p.calls[b], now)
		}
		p.log = append(p.log, what)
		p.mu.Unlock()
		pass(latency)
		return nil
	}
}

func (p *platform) within(bucket string, now time.Time, span time.Duration) int {
	n := 0
	for _, t := range p.calls[bucket] {
		if now.Sub(t) < span {
			n++
		}
	}
	return n
}

func (p *platform) order() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.log...)
}

// running starts o for the length of the test.
func running(t *testing.T, o *Outbox) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- o.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// calls makes calls from goroutines of their own and waits for all.
type calls struct {
	t  *testing.T
	o  *Outbox
	wg sync.WaitGroup
}

func (c *calls) do(call Call) {
	c.wg.Go(func() {
		if err := c.o.Do(c.t.Context(), call); err != nil {
			c.t.Errorf("Do = %v", err)
		}
	})
}

// pass lets the time of the bubble go on; to the clock on the wall it is nothing.
func pass(d time.Duration) { <-time.After(d) }

var errOdd = errors.New("connection reset")
