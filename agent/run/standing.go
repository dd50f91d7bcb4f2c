package run

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"nod/agent"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Limits of the remembered threads.
const (
	mostStandings     = 2000
	mostStandingBytes = 32 << 20 // of their logs, about
)

// Standings remembers the state of threads. So a message costs reading the new part of
// its thread, and nothing if this process wrote to it last. It is safe for concurrent
// use; other processes may write to the same threads.
type Standings struct {
	mu    sync.Mutex
	order *list.List // of *standing, the last used one first
	of    map[chat.ThreadID]*list.Element
	size  int // bytes
}

// standing is a log, read up to a Seq, and its state at another one.
type standing struct {
	mu     sync.Mutex
	thread chat.ThreadID
	log    *agent.Log
	last   uint64
	told   chat.Standing
	toldAt uint64
	bytes  int // of the log
	size   int // the same, as counted; guarded by Standings
}

// NewStandings makes an empty one.
func NewStandings() *Standings {
	return &Standings{order: list.New(), of: map[chat.ThreadID]*list.Element{}}
}

// get returns the remembered state of a thread, or an empty one.
func (s *Standings) get(thread chat.ThreadID) *standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.of[thread]; e != nil {
		s.order.MoveToFront(e)
		st, _ := e.Value.(*standing)
		return st
	}
	st := &standing{thread: thread}
	s.of[thread] = s.order.PushFront(st)
	s.trim()
	return st
}

// trim forgets the threads that were used least recently.
func (s *Standings) trim() {
	for s.order.Len() > mostStandings || s.size > mostStandingBytes {
		old, _ := s.order.Remove(s.order.Back()).(*standing)
		delete(s.of, old.thread)
		s.size -= old.size
	}
}

// weigh counts the bytes of a log that was read, unless its thread was forgotten
// meanwhile.
func (s *Standings) weigh(st *standing) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.of[st.thread]; e == nil || e.Value != any(st) {
		return
	}
	s.size += st.bytes - st.size
	st.size = st.bytes
	s.trim()
}

// tell notes the state of a log at a stored Seq. It waits for nobody: a concurrent
// reading of the log knows more.
func (s *Standings) tell(thread chat.ThreadID, is chat.Standing, last uint64) {
	if s == nil {
		return
	}
	if st := s.get(thread); st.mu.TryLock() {
		st.told, st.toldAt = is, last
		st.mu.Unlock()
	}
}

// Standing gives the state of a thread, with its inbox.
func (i Inbox) Standing(ctx context.Context, thread chat.ThreadID) (chat.Standing, error) {
	st := &standing{thread: thread}
	if i.Standings != nil {
		st = i.Standings.get(thread)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	is, err := st.ask(ctx, i.Store)
	i.Standings.weigh(st)
	if err != nil {
		return is, fmt.Errorf("read thread: %w", err)
	}
	return is, nil
}

// ask reads the entries since the last reading or telling.
func (st *standing) ask(ctx context.Context, store memory.Reader) (chat.Standing, error) {
	after := max(st.last, st.toldAt)
	tail, err := store.Tail(ctx, st.thread, after)
	switch {
	case err != nil:
		return chat.Standing{}, err
	case after > 0 && (tail.Base > after+1 || tail.Last < after): // forgotten, or a store that came back older
		st.log, st.last, st.toldAt, st.bytes = nil, 0, 0, 0
		return st.ask(ctx, store)
	case after > 0 && after == st.toldAt && after == tail.Last:
		if is, ok := view.StillStanding(st.told, tail.Inbox...); ok {
			return is, nil
		}
	}
	if after > st.last {
		st.toldAt = 0
		return st.ask(ctx, store)
	}
	if st.log == nil {
		st.log = agent.NewLog(nil, agent.Claim{})
	}
	st.log.Append(tail.Log...)
	st.bytes += memory.Weigh(tail.Log) + memory.BareKept*len(tail.Log)
	st.last = tail.Last
	return view.Standing(st.log.Thread, tail.Inbox...), nil
}
