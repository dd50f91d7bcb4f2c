package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
)

// Many people write in many threads while many workers serve them: nothing is
// lost, doubled or reordered, and no thread is held twice at once.
func concurrent(t *testing.T, open Open) {
	const nThreads, perPerson, people, workers = 12, 8, 3, 6
	s := open(t, Options{}).Store
	ctx := patient(t)
	var wg sync.WaitGroup
	for i := range nThreads {
		for p := range people {
			wg.Go(func() {
				for n := range perPerson {
					b := says(fmt.Sprintf("%d %d", p, n))
					if _, err := s.Put(ctx, thread(number("t", i)), b, fmt.Sprintf("%d-%d-%d", i, p, n)); err != nil {
						t.Errorf("Put: %v", err)
					}
				}
			})
		}
	}
	w := &crew{t: t, s: s, ctx: ctx, want: nThreads * perPerson * people}
	w.held, w.seen = map[chat.ThreadID]bool{}, map[chat.ThreadID]int{}
	claims, stop := context.WithCancel(ctx)
	w.stop = stop
	for range workers {
		wg.Go(func() { w.work(claims) })
	}
	wg.Wait()
	for i := range nThreads {
		wantEveryMessage(t, read(t, s, thread(number("t", i))), people, perPerson)
	}
}

// crew is what the workers of the concurrent test share.
type crew struct {
	t    *testing.T
	s    memory.Store
	ctx  context.Context
	stop context.CancelFunc // ends the claiming
	want int                // messages in all

	mu   sync.Mutex
	held map[chat.ThreadID]bool
	seen map[chat.ThreadID]int // messages in the log
}

func (c *crew) work(claims context.Context) {
	for {
		run, err := c.s.Next(claims, platform)
		if claims.Err() != nil {
			return
		}
		if err != nil {
			c.t.Errorf("Next: %v", err)
			c.stop()
			return
		}
		c.mark(run.Thread, true)
		for more := true; more; {
			if more, err = c.step(run); err != nil {
				c.t.Error(err)
				c.stop()
				return
			}
		}
	}
}

// step commits once and tries to finish. Others may claim the thread as soon
// as Finish begins.
func (c *crew) step(run *memory.Run) (more bool, err error) {
	if _, err := c.s.Commit(c.ctx, run, memory.Ended{Turn: 1}); err != nil {
		return false, fmt.Errorf("commit: %w", err)
	}
	messages := 0
	for _, e := range run.Log {
		if e.Body.Kind() == "message" {
			messages++
		}
	}
	c.mark(run.Thread, false)
	more, err = c.s.Finish(c.ctx, run, time.Time{})
	if err != nil {
		return false, fmt.Errorf("finish: %w", err)
	}
	if more {
		c.mark(run.Thread, true)
	} else {
		c.count(run.Thread, messages)
	}
	return more, nil
}

func (c *crew) mark(th chat.ThreadID, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held && c.held[th] {
		c.t.Errorf("%v is held twice", th)
	}
	c.held[th] = held
}

// count ends the claiming once every message is in a log.
func (c *crew) count(th chat.ThreadID, messages int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[th] = max(c.seen[th], messages)
	sum := 0
	for _, n := range c.seen {
		sum += n
	}
	if sum == c.want {
		c.stop()
	}
}

func wantEveryMessage(t *testing.T, log []memory.Entry, people, perPerson int) {
	t.Helper()
	wantContiguous(t, log)
	nextOf := make([]int, people)
	for _, e := range log {
		m, ok := e.Body.(memory.Message)
		if !ok {
			continue
		}
		var p, n int
		if _, err := fmt.Sscanf(m.Text, "%d %d", &p, &n); err != nil {
			t.Fatalf("message %q: %v", m.Text, err)
		}
		if n != nextOf[p] {
			t.Errorf("message %d of person %d where %d was due", n, p, nextOf[p])
		}
		nextOf[p] = n + 1
	}
	for p, n := range nextOf {
		if n != perPerson {
			t.Errorf("%d messages of person %d, want %d", n, p, perPerson)
		}
	}
}
