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

// mostStandings limits the remembered threads.
const mostStandings = 2000

// Standings remembers the state of threads. So a message costs reading the new part of
// its thread, and nothing if this process wrote to it last. It is safe for concurrent
// use; other processes may write to the same threads.
type Standings struct {
	mu    sync.Mutex
	order *list.List // of *standing, the last used one first
	of    map[chat.ThreadID]*list.Element
}

// standing is a log, read up to a Seq, and its state at another one.
type standing struct {
	mu     sync.Mutex
	thread chat.ThreadID
	log    *agent.Log
	last   uint64
	told   chat.Standing
	toldAt uint64
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
	if s.order.Len() > mostStandings {
		old, _ := s.order.Remove(s.order.Back()).(*standing)
		delete(s.of, old.thread)
	}
	return st
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
		st.log, st.last, st.toldAt = nil, 0, 0
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
	st.last = tail.Last
	return view.Standing(st.log.Thread, tail.Inbox...), nil
}
