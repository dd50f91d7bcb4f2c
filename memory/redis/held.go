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

// held is what the store knows of a run. Its fields below the blank line
// belong to the goroutine that uses the run.
type held struct {
	shard  int
	thread string
	id     chat.ThreadID
	ready  string // the entry of the ready stream by which it came
	token  string
	bell   *memory.Bell
	lost   atomic.Bool // somebody else has, or may have, the lease: it is not renewed

	past   past
	inbox  []string       // what the run has seen of the inbox: the next commit moves it to the log
	seen   []memory.Entry // the same, read, with the Seq that it will have
	weight int            // bytes of the log
	chain  memory.Head    // the end of its audit log, as far as this process knows
	heard  time.Time      // the server's clock, when it was last heard
	doubt  doubt          // the call of which it is not known whether it was done
}

// doubt is a call that got no answer. The same call again has the same number,
// so that it is done once.
type doubt struct {
	what    string
	entries []string
	number  string
}

// number gives the number of a call: that of the one in doubt, if it is the
// same.
func (h *held) number(w *words, what string, entries []string) string {
	if h.doubt.what != what || !slices.Equal(h.doubt.entries, entries) {
		h.doubt = doubt{what, entries, w.next()}
	}
	return h.doubt.number
}

// did notes that the call in doubt was done, and what it added to the log.
func (h *held) did(added []string) {
	h.past.add(h.doubt.number, h.past.last().seq+uint64(len(added)), added)
	h.doubt, h.inbox, h.seen = doubt{}, nil, nil
}

// sees notes what is in the inbox now, and gives it as it will be in the log.
func (h *held) sees(inbox []string) []memory.Entry {
	h.inbox, h.seen = inbox, decodeEntries(inbox, h.past.last().seq+1)
	h.weight += weightOf(inbox)
	return h.seen
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
		old.lost.Store(true)
		old.bell.Lose()
	}
	h.by[r.thread] = r
	return true
}

// has says whether the run has not ended, as far as this process knows.
func (h *holders) has(r *held) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.by[r.thread] == r
}

// end lets go of a run that was released, or that can't go on.
func (h *holders) end(r *held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.by[r.thread] == r {
		delete(h.by, r.thread)
	}
}

// mail tells the run of a thread that something arrived.
func (h *holders) mail(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.by[thread]; r != nil {
		r.bell.Mail()
	}
}

// list gives the runs of each shard whose leases are to be renewed.
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

// close loses every run, and gives them.
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

// heldBy gives what the store knows of a run, or ErrFenced when the run has
// ended.
func (s *Store) heldBy(run *memory.Run) (*held, error) {
	h, ok := run.Held.(*held)
	if !ok || !s.held.has(h) {
		return nil, memory.ErrFenced
	}
	return h, nil
}
