package document

import (
	"context"
	"slices"
	"sync"
)

// turns lets so many documents be read at once, and whoever reads the fewest go next:
// a thread that has a hundred of them read holds up another for one document, and not
// for a hundred. Of equals the one that has waited longest goes next.
type turns struct {
	mu      sync.Mutex
	free    int
	reads   map[string]int
	waiting []*turn
}

// turn is a document that waits.
type turn struct {
	whose string
	begin chan struct{} // is closed when it may be read
}

func newTurns(free int) *turns { return &turns{free: free, reads: map[string]int{}} }

// take waits for a turn; ok is false when the context was done before it came.
func (t *turns) take(ctx context.Context, whose string) (done func(), ok bool) {
	mine := &turn{whose, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, mine)
	t.next()
	t.mu.Unlock()
	select {
	case <-mine.begin:
	case <-ctx.Done():
		if t.leave(mine) {
			return nil, false
		}
	}
	return func() { t.give(whose) }, true
}

// leave takes a turn out of those that wait; ok is false when it has come.
func (t *turns) leave(mine *turn) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, mine)
	if i < 0 {
		return false
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return true
}

// give gives a turn back.
func (t *turns) give(whose string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	if t.reads[whose]--; t.reads[whose] == 0 {
		delete(t.reads, whose)
	}
	t.next()
}

// next begins as many as may be read.
func (t *turns) next() {
	for t.free > 0 && len(t.waiting) > 0 {
		best := 0
		for i, w := range t.waiting {
			if t.reads[w.whose] < t.reads[t.waiting[best].whose] {
				best = i
			}
		}
		w := t.waiting[best]
		t.waiting = slices.Delete(t.waiting, best, best+1)
		t.free--
		t.reads[w.whose]++
		close(w.begin)
	}
}
