package redis

import (
	"container/list"
	"sync"

	"nod/memory"
)

// mostRecent is how many entries, of all threads, are remembered.
const mostRecent = 100_000

// recent remembers the logs of the threads that this process held last, so that
// a claim has to load only what is new. It is right as long as nobody else held
// the thread in between, which the fencing token says.
type recent struct {
	mu    sync.Mutex
	order *list.List // of *remembered, the last used one first
	items map[string]*list.Element
	size  int
}

type remembered struct {
	thread string
	token  uint64
	log    []memory.Entry
}

func newRecent() *recent { return &recent{order: list.New(), items: map[string]*list.Element{}} }

// put remembers the log as it was under a token; what has not been used for
// longest makes room.
func (r *recent) put(thread string, token uint64, log []memory.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.items[thread])
	r.items[thread] = r.order.PushFront(&remembered{thread, token, log[:len(log):len(log)]})
	r.size += len(log)
	for r.size > mostRecent {
		r.drop(r.order.Back())
	}
}

// take gives what is remembered of a thread and forgets it: whoever claims the
// thread goes on with it.
func (r *recent) take(thread string) (token uint64, log []memory.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.items[thread]
	if e == nil {
		return 0, nil
	}
	m, _ := e.Value.(*remembered)
	r.drop(e)
	return m.token, m.log
}

func (r *recent) drop(e *list.Element) {
	if e == nil {
		return
	}
	m, _ := r.order.Remove(e).(*remembered)
	delete(r.items, m.thread)
	r.size -= len(m.log)
}

// last is the Seq of the last entry; 0 when there is none.
func last(log []memory.Entry) uint64 {
	if len(log) == 0 {
		return 0
	}
	return log[len(log)-1].Seq
}

// since leaves out what is before a Seq.
func since(log []memory.Entry, seq uint64) []memory.Entry {
	for i, e := range log {
		if e.Seq >= seq {
			return log[i:]
		}
	}
	return nil
}
