package slack

import (
	"context"
	"sync"
)

// A message waits for its files, and for the thread that it was written in to be
// read, before it is put: the turn begins with all of it. Whoever says stop
// meanwhile is put behind it, in order, and at once: what the message waits for is
// given up.

// hurry knows what is waited for, by lane.
type hurry struct {
	mu   sync.Mutex
	last int
	of   map[string]map[int]context.CancelFunc
}

// begin gives a context that ends when there is no time any more, and a function
// to call when the waiting is over.
func (h *hurry) begin(ctx context.Context, lane string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[string]map[int]context.CancelFunc{}
	}
	if h.of[lane] == nil {
		h.of[lane] = map[int]context.CancelFunc{}
	}
	h.last++
	n := h.last
	h.of[lane][n] = cancel
	return ctx, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.of[lane], n); len(h.of[lane]) == 0 {
			delete(h.of, lane)
		}
	}
}

// now gives up what is waited for in a lane.
func (h *hurry) now(lane string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, cancel := range h.of[lane] {
		cancel()
	}
}
