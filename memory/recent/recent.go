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
// loads only new entries. Only the store knows whether a log is still right. It is safe
// for concurrent use.
type Logs struct {
	mu    sync.Mutex
	order *list.List // of *Log, the last used one first
	items map[string]*list.Element
	size  int // bytes
}

// Log is a log at rest. The zero Log is none.
type Log struct {
	Thread  string
	Entries []memory.Entry
	Kept    any // memory.Run's Kept
	Beside  any // the store's own
	Bytes   int // of Beside
	size    int
}

// New makes an empty cache.
func New() *Logs { return &Logs{order: list.New(), items: map[string]*list.Element{}} }

// Put caches a log without its trimmed or forgotten part. The least recently used logs
// make room.
func (r *Logs) Put(l Log) {
	all := len(l.Entries)
	l.Entries = current(l.Entries)
	l.size = l.Bytes + memory.Weigh(l.Entries)
	switch {
	case len(l.Entries) != all:
		l.Kept = nil // computed from entries that are gone
	case l.Kept != nil:
		l.size += memory.BareKept * len(l.Entries)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.items[l.Thread])
	if l.size > mostBytes {
		return
	}
	l.Entries = l.Entries[:len(l.Entries):len(l.Entries)]
	r.items[l.Thread] = r.order.PushFront(&l)
	r.size += l.size
	for r.size > mostBytes || r.order.Len() > mostThreads {
		r.drop(r.order.Back())
	}
}

// Take removes a thread's log and returns it: the claimer of the thread continues it.
func (r *Logs) Take(thread string) Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.items[thread]
	if e == nil {
		return Log{}
	}
	l, _ := e.Value.(*Log)
	r.drop(e)
	return *l
}

// All lists the logs, the last used one first.
func (r *Logs) All() (out []Log) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e := r.order.Front(); e != nil; e = e.Next() {
		l, _ := e.Value.(*Log)
		out = append(out, *l)
	}
	return out
}

func (r *Logs) drop(e *list.Element) {
	if e == nil {
		return
	}
	l, _ := r.order.Remove(e).(*Log)
	delete(r.items, l.Thread)
	r.size -= l.size
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
