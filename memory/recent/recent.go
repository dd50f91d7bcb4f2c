// Package recent caches the logs that a store held last.
package recent

import (
	"slices"
	"sync"

	"nod/chat"
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
// for concurrent use, and the zero value is empty.
type Logs struct {
	mu   sync.Mutex
	logs []Log // the last used one at the end
	size int   // bytes
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

// Put caches a log without its trimmed or forgotten part. The least recently used logs
// make room.
func (r *Logs) Put(l Log) {
	all := len(l.Entries)
	if base := memory.EffectsOf(chat.ThreadID{}, l.Entries).Base; all > 0 && l.Entries[0].Seq < base {
		l.Entries = slices.Clone(memory.Since(l.Entries, base))
	}
	l.size = l.Bytes + memory.Weigh(l.Entries)
	switch {
	case len(l.Entries) != all:
		l.Kept = nil // computed from entries that are gone
	case l.Kept != nil:
		l.size += memory.BareKept * len(l.Entries)
	}
	l.Entries = slices.Clip(l.Entries)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.take(l.Thread)
	if l.size > mostBytes {
		return
	}
	r.logs = append(r.logs, l)
	r.size += l.size
	for r.size > mostBytes || len(r.logs) > mostThreads {
		r.take(r.logs[0].Thread)
	}
}

// Take removes a thread's log and returns it: the claimer of the thread continues it.
func (r *Logs) Take(thread string) Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.take(thread)
}

func (r *Logs) take(thread string) (l Log) {
	if i := slices.IndexFunc(r.logs, func(l Log) bool { return l.Thread == thread }); i >= 0 {
		l = r.logs[i]
		r.logs = slices.Delete(r.logs, i, i+1)
		r.size -= l.size
	}
	return l
}

// All lists the logs.
func (r *Logs) All() []Log {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.logs)
}
