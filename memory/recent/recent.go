// Package recent caches the logs that a store held last.
package recent

import (
	"container/list"
	"slices"
	"sync"

	"nod/memory"
)

// Limits of the cache. Threads that wait for long are not among the latest ones, and
// cost nothing.
const (
	mostThreads = 512
	mostBytes   = 32 << 20 // of all threads, about
)

// Logs caches the logs of the threads that this process held last, so that a claim
// loads only new entries. A log is right if nobody else held the thread in between; the
// store knows that by the claim's token. It is safe for concurrent use.
type Logs struct {
	mu    sync.Mutex
	order *list.List // of *remembered, the last used one first
	items map[string]*list.Element
	size  int // bytes
}

type remembered struct {
	thread string
	token  string
	log    []memory.Entry
	kept   any
	size   int
}

// New makes an empty cache.
func New() *Logs { return &Logs{order: list.New(), items: map[string]*list.Element{}} }

// Put caches the log under a token, without its trimmed or forgotten part. The least
// recently used logs make room.
func (r *Logs) Put(thread, token string, log []memory.Entry, kept any) {
	all := len(log)
	log = current(log)
	size := memory.Weigh(log)
	switch {
	case len(log) != all:
		kept = nil // computed from entries that are gone
	case kept != nil:
		size += memory.BareKept * len(log)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.items[thread])
	if size > mostBytes {
		return
	}
	r.items[thread] = r.order.PushFront(&remembered{thread, token, log[:len(log):len(log)], kept, size})
	r.size += size
	for r.size > mostBytes || r.order.Len() > mostThreads {
		r.drop(r.order.Back())
	}
}

// Take removes a thread's log and returns it: the claimer of the thread continues it.
func (r *Logs) Take(thread string) (token string, log []memory.Entry, kept any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.items[thread]
	if e == nil {
		return "", nil, nil
	}
	m, _ := e.Value.(*remembered)
	r.drop(e)
	return m.token, m.log, m.kept
}

func (r *Logs) drop(e *list.Element) {
	if e == nil {
		return
	}
	m, _ := r.order.Remove(e).(*remembered)
	delete(r.items, m.thread)
	r.size -= m.size
}

// current returns the log from its base on.
func current(log []memory.Entry) []memory.Entry {
	base := uint64(0)
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Trimmed:
			base = max(base, b.Before)
		case memory.Forgot:
			base = max(base, b.Before)
		}
	}
	if base == 0 || len(log) == 0 || log[0].Seq >= base {
		return log
	}
	return slices.Clone(memory.Since(log, base))
}
