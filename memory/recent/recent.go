// Package recent remembers the logs that a store held last.
package recent

import (
	"container/list"
	"slices"
	"sync"

	"nod/memory"
)

// What is remembered at most. Threads that wait for long are not among the last
// ones, and cost nothing.
const (
	mostThreads = 512
	mostBytes   = 32 << 20 // of all threads, about
)

// Logs remembers the logs of the threads that this process held last, so that
// a store has to load only what is new when it claims one again. It is right as
// long as nobody else held the thread in between: that is for the store to know,
// by the token of the claim under which a log was put. It is safe for concurrent
// use.
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

// New makes an empty one.
func New() *Logs { return &Logs{order: list.New(), items: map[string]*list.Element{}} }

// Put remembers the log as it was under a token, but for what was left out or
// forgotten; what has not been used for longest makes room.
func (r *Logs) Put(thread, token string, log []memory.Entry, kept any) {
	all := len(log)
	log = current(log)
	size := weigh(log)
	switch {
	case len(log) != all:
		kept = nil // it was made of what is gone
	case kept != nil:
		size += BareKept * len(log)
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

// Take gives what is remembered of a thread and forgets it: whoever claims the
// thread goes on with it.
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

// current is the log from its base on.
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

// BareKept is what memory.Run's Kept is taken for, in bytes an entry: what is in the
// entries it has in common with the log.
const BareKept = 256

// weigh says about how many bytes a log takes in memory: its texts, and for each
// entry what it takes without them.
func weigh(log []memory.Entry) int {
	const bare = 256
	size := bare * len(log)
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Message:
			size += len(b.Text) + len(b.Ref.Channel) + bare*len(b.Files)
		case memory.Edited:
			size += len(b.Text)
		case memory.Step:
			size += len(b.Thought) + len(b.Answer)
			for _, c := range b.Calls {
				size += bare + len(c.Args)
			}
		case memory.Ran:
			size += bare + len(b.Call.Args)
		case memory.Previewed:
			size += bare + len(b.Text)
		case memory.Result:
			size += len(b.Text) + bare*len(b.Artifacts)
		case memory.Question:
			size += len(b.Asks.Text) + len(b.Asks.Schema)
		case memory.Answered:
			size += len(b.Answer.Text) + len(b.Answer.Values)
		case memory.Trimmed:
			size += len(b.Summary) + len(b.Recap) + bare*(len(b.Files)+len(b.People)+len(b.Stubs))
		case memory.Unknown:
			size += len(b.Raw)
		case memory.Broken:
			size += len(b.Raw)
		}
	}
	return size
}
