package run

import (
	"log/slog"
	"sync"
)

// health says once that the store is away or takes no writes, and once that it
// is back.
type health struct {
	mu  sync.Mutex
	bad bool
}

func (h *health) fails(log *slog.Logger, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.bad {
		log.Error("the store is away or takes no writes; what is done waits for it", "error", err)
	}
	h.bad = true
}

func (h *health) works(log *slog.Logger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bad {
		log.Info("the store is back")
	}
	h.bad = false
}

// ill says whether the last that was heard of the store was bad.
func (h *health) ill() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bad
}
