package redis

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nod/chat"
	"nod/memory"
)

// holders are the runs that this process holds, by thread.
type holders struct {
	mu sync.Mutex
	by map[string]*held // nil once closed
}

// held is the store's part of a run. The fields below the blank line belong to the
// goroutine of the run.
type held struct {
	shard  int
	thread string
	id     chat.ThreadID
	ready  string // its entry in the ready stream
	token  string
	bell   *memory.Bell
	lost   atomic.Bool // another process has or may have the lease: don't renew it

	past       past
	inbox      []string       // seen inbox entries: the next commit moves them
	seen       []memory.Entry // the same, decoded, with their future Seq
	chain      memory.Head    // the end of its audit chain, as far as this process knows
	serverTime time.Time      // the server's clock at its last answer
	doubt      doubt          // a call without an answer
}

// doubt is a call without an answer. The same call again has the same number, so that
// it happens once.
type doubt struct {
	what    string
	entries []string
	number  string
}

// callNumber numbers a call; a repeated doubtful call keeps its number.
func (h *held) callNumber(w *words, what string, entries []string) string {
	if h.doubt.what != what || !slices.Equal(h.doubt.entries, entries) {
		h.doubt = doubt{what, entries, w.next()}
	}
	return h.doubt.number
}

// settleDoubt notes that the doubtful call happened, and its entries.
func (h *held) settleDoubt(added []string) {
	h.past.add(h.doubt.number, h.past.last().seq+uint64(len(added)), added)
	h.doubt, h.inbox, h.seen = doubt{}, nil, nil
}

// numberInbox notes the inbox, and gives its entries the Seq that they will have in the
// log.
func (h *held) numberInbox(inbox []string) []memory.Entry {
	h.inbox, h.seen = inbox, decodeEntries(inbox, h.past.last().seq+1)
	return h.seen
}

// add registers a run. An earlier run of the thread is lost, since the thread was
// claimed anew. False after close.
func (h *holders) add(r *held) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by == nil {
		return false
	}
	if old := h.by[r.thread]; old != nil {
		old.lost.Store(true)
		old.bell.Lose()
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

// end removes a run that was released or can't go on.
func (h *holders) end(r *held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[r.thread] == r {
		delete(h.by, r.thread)
	}
}

// mail rings the bell of a thread's run.
func (h *holders) mail(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.by[thread]; r != nil {
		r.bell.Mail()
	}
}

// list gives the runs of each shard whose leases need a renewal.
func (h *holders) list() (out [shards][]*held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.by {
		if !r.lost.Load() {
			out[r.shard] = append(out[r.shard], r)
		}
	}
	return out
}

// close loses every run, and returns them.
func (h *holders) close() (out []*held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.by {
		r.lost.Store(true)
		r.bell.Lose()
		out = append(out, r)
	}
	h.by = nil
	return out
}

// heldBy returns the store's part of a run, or ErrFenced after its end.
func (s *Store) heldBy(run *memory.Run) (*held, error) {
	h, ok := run.Held.(*held)
	if !ok || !s.held.has(h) {
		return nil, memory.ErrFenced
	}
	return h, nil
}
