package redis

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// never is later than every deadline.
const never = math.MaxInt64

// sweepCount is the number of threads in one sweep.
const sweepCount = 100

// deadlines says when each shard needs a sweep, in milliseconds of its server's clock.
// This process knows its own deadlines at once, and finds others by polling.
type deadlines struct {
	mu   sync.Mutex
	next [shards]int64         // 0: due now
	skew [shards]time.Duration // server's clock minus ours
	soon chan struct{}
}

// tick notes the server's clock.
func (d *deadlines) tick(shard int, now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.skew[shard] = time.Until(time.UnixMilli(now))
}

// clock estimates the server's clock from its last answer; the real one is not earlier.
func (d *deadlines) clock(shard int) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().Add(d.skew[shard])
}

// note notes a deadline; 0 is none.
func (d *deadlines) note(shard int, at int64) {
	if at == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at < d.next[shard] {
		d.next[shard] = at
		signal(d.soon)
	}
}

// wait gives the time until the next sweep, at most limit.
func (d *deadlines) wait(limit time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	for shard, at := range d.next {
		if at != never {
			limit = min(limit, time.Until(time.UnixMilli(at))-d.skew[shard])
		}
	}
	return max(limit, 0)
}

// due removes and returns the shards whose time has come.
func (d *deadlines) due() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []int
	for shard, at := range d.next {
		if at != never && time.Until(time.UnixMilli(at)) <= d.skew[shard] {
			out = append(out, shard)
			d.next[shard] = never
		}
	}
	return out
}

// sweepLoop sweeps shards at their deadlines. Each beat reports nearer deadlines of
// other processes. A stalled shard delays no other.
func (s *Store) sweepLoop(ctx context.Context) {
	var busy [shards]atomic.Bool
	for {
		select {
		case <-s.deadlines.soon: // it arrived before the wait
		default:
		}
		timer := time.NewTimer(s.deadlines.wait(pollEvery))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.deadlines.soon:
		case <-timer.C:
		}
		timer.Stop()
		for _, shard := range s.deadlines.due() {
			if busy[shard].Swap(true) {
				continue
			}
			s.spawn(func(ctx context.Context) {
				defer busy[shard].Store(false)
				s.sweep(ctx, shard)
			})
		}
	}
}

// sweep wakes the due threads of a shard.
func (s *Store) sweep(ctx context.Context, shard int) {
	r := newReply(s.run(ctx, sweepScript, shard, s.lease.Milliseconds(), s.keep.Milliseconds(), sweepCount, dueEntry))
	now, next := r.int(), r.int()
	bad, erased := r.strings(), r.strings()
	if r.err != nil {
		if ctx.Err() == nil {
			s.log.Warn("redis: sweep a shard", "shard", shard, "error", r.err)
		}
		return // the next beat reports them again
	}
	for _, thread := range bad {
		s.log.Error("redis: a thread is damaged", "thread", thread)
	}
	s.deadlines.tick(shard, now)
	s.deadlines.note(shard, next)
	for i := 0; i+1 < len(erased); i += 2 {
		if err := s.writeTombstone(ctx, shard, erased[i], erased[i+1]); err != nil && ctx.Err() == nil {
			s.log.Warn("redis: write a tombstone", "thread", erased[i], "error", err)
		}
	}
}
