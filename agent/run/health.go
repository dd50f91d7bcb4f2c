package run

import (
	"log/slog"
	"sync/atomic"
)

// health says once that the store is away or takes no writes, and once that it
// is back.
type health struct{ bad atomic.Bool }

func (h *health) fails(log *slog.Logger, err error) {
	if !h.bad.Swap(true) {
		log.Error("the store is away or takes no writes; what is done waits for it", "error", err)
	}
}

func (h *health) works(log *slog.Logger) {
	if h.bad.Swap(false) {
		log.Info("the store is back")
	}
}
