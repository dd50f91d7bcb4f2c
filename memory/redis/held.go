package redis

import (
	"sync"
	"sync/atomic"

	"nod/memory"
)

// holders are the runs that this process holds, by thread.
type holders struct {
	mu sync.Mutex
	by map[string]*held // nil once closed
}

// held is what the store knows of a run. Its fields below the blank line
// belong to the goroutine that uses the run.
type held struct {
	shard  int
	thread string
	ready  string // the entry of the ready stream by which it came
	token  uint64
	mail   chan struct{}
	lost   chan struct{}
	unsure atomic.Bool // a commit failed: the lease is not renewed until it is tried again

	seq     uint64 // of the last entry in the log
	commits counter
	doubt   *commitArgs // a commit of which it is not known whether it was done
}

func (h *holders) init() { h.by = map[string]*held{} }

// add takes up a run. A former run of the thread is lost, since it was claimed
// anew. It reports false once the store is closed.
func (h *holders) add(r *held) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		return false
	}
	if old := h.by[r.thread]; old != nil {
		close(old.lost)
	}
	h.by[r.thread] = r
	return true
}

// has says whether the run is still held, as far as this process knows.
func (h *holders) has(r *held) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.by[r.thread] == r
}

// end lets go of a run that was released.
func (h *holders) end(r *held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[r.thread] == r {
		delete(h.by, r.thread)
	}
}

// lose lets go of a run that somebody else may hold, and tells it.
func (h *holders) lose(r *held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[r.thread] == r {
		delete(h.by, r.thread)
		close(r.lost)
	}
}

// mail tells the run of a thread that something arrived.
func (h *holders) mail(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.by[thread]; r != nil {
		select {
		case r.mail <- struct{}{}:
		default:
		}
	}
}

// list gives the runs of each shard: all of them, or those in good order.
func (h *holders) list(all bool) (out [shards][]*held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.by {
		if !all && r.unsure.Load() {
			continue
		}
		out[r.shard] = append(out[r.shard], r)
	}
	return out
}

// close loses every run, and gives them.
func (h *holders) close() (out [shards][]*held) {
	out = h.list(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.by {
		close(r.lost)
	}
	h.by = nil
	return out
}

// heldBy gives what the store knows of a run, or ErrFenced when the run has
// ended or is lost.
func (s *Store) heldBy(run *memory.Run) (*held, error) {
	h, ok := run.Held.(*held)
	if !ok || !s.held.has(h) {
		return nil, memory.ErrFenced
	}
	return h, nil
}
