package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Jobs of one lane run one after the other and in order, and never more at a time than
// there are slots.
func TestLanesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 5).Draw(rt, "most")
		events := rapid.SliceOfN(rapid.IntRange(0, 3), 0, 40).Draw(rt, "lanes")
		synctest.Test(t, func(t *testing.T) {
			l := NewLanes(most)
			var mu sync.Mutex
			done, busy, under := map[int][]int{}, map[int]bool{}, 0
			for n, lane := range events {
				l.Run(t.Context(), fmt.Sprint(lane), 0, func(context.Context) {
					mu.Lock()
					under++
					if busy[lane] || under > most {
						rt.Errorf("lane %d is busy: %v; %d under way", lane, busy[lane], under)
					}
					busy[lane] = true
					mu.Unlock()
					time.Sleep(time.Duration(n%3) * time.Second)
					mu.Lock()
					under--
					busy[lane] = false
					done[lane] = append(done[lane], n)
					mu.Unlock()
				})
			}
			l.Wait()
			total := 0
			for lane, order := range done {
				total += len(order)
				if !slices.IsSorted(order) {
					rt.Errorf("lane %d was done in the order %v", lane, order)
				}
			}
			if total != len(events) || len(l.last) != 0 {
				rt.Errorf("%d of %d were done, %d lanes are left", total, len(events), len(l.last))
			}
		})
	})
}

// An event that takes too long is told so, and lets the next one of its lane
// go; one for which there is no room any more is not begun.
func TestLanesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(2)
		began := time.Now()
		l.Run(t.Context(), "a", time.Second, func(ctx context.Context) { <-ctx.Done() })
		err := l.Do(t.Context(), "a", time.Minute, func(ctx context.Context) error { return errors.New("put") })
		if err == nil || err.Error() != "put" || time.Since(began) != time.Second {
			t.Errorf("the next one: %v after %v", err, time.Since(began))
		}
		block := make(chan struct{})
		for range 2 {
			l.Run(t.Context(), "b", 0, func(context.Context) { <-block })
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := false
		if err := l.Do(ctx, "c", 0, func(context.Context) error { begun = true; return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without room: %v", err)
		}
		close(block)
		l.Wait()
		if begun {
			t.Error("it was begun although nobody waited for it")
		}
	})
}

// A job waits for another lane also when all slots are taken, and no longer than its
// own context allows.
func TestLanesBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLanes(3)
		began := time.Now()
		message := make(chan struct{})
		l.Run(t.Context(), "channel", 0, func(context.Context) { time.Sleep(2 * time.Second); close(message) })
		var waited []error
		for _, patience := range []time.Duration{time.Second, time.Minute} {
			l.Run(t.Context(), "reactions", 0, func(ctx context.Context) {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				waited = append(waited, l.Behind(ctx, "channel"), l.Behind(ctx, "empty"))
			})
		}
		l.Wait()
		if want := []error{context.DeadlineExceeded, nil, nil, nil}; !slices.Equal(waited, want) || time.Since(began) != 2*time.Second {
			t.Errorf("it waited for %v and got %v, want %v", time.Since(began), waited, want)
		}
		<-message
	})
}

func TestObserve(t *testing.T) {
	n := 0
	o := Observe{Duplicate: func() { n++ }}
	if o.Put(true); n != 0 {
		t.Error("a new event was counted as known")
	}
	o.Put(false)
	Observe{}.Put(false)
	if Count(o.Malformed); n != 1 {
		t.Errorf("%d repeats", n)
	}
}
