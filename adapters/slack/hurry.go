package slack

import (
	"context"
	"sync"
)

// A message waits for its files, and for the thread that it was written in to be
// read, before it is put: the turn begins with all of it. Whoever says stop
// meanwhile is put behind it, in order, and at once: what the message waits for is
// given up.

// hurry knows what is waited for, each with its lane. The zero hurry is ready.
type hurry struct {
	mu sync.Mutex
	of map[*context.CancelFunc]string
}

// begin gives a context that ends when there is no time any more, and a function
// to call when the waiting is over.
func (h *hurry) begin(ctx context.Context, lane string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.of == nil {
		h.of = map[*context.CancelFunc]string{}
	}
	h.of[&cancel] = lane
	return ctx, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.of, &cancel)
	}
}

// now gives up what is waited for in a lane.
func (h *hurry) now(lane string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for cancel, in := range h.of {
		if in == lane {
			(*cancel)()
		}
	}
}
