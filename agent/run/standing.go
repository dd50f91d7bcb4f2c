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

// mostStandings is of how many threads it is remembered what is known of them.
const mostStandings = 2000

// Standings remembers what the logs of threads came to, so that every message of
// a thread costs what is new in it, not what is old, and nothing where this process
// wrote to it last. It is safe for concurrent use; other processes may write to the
// same threads.
type Standings struct {
	mu    sync.Mutex
	order *list.List // of *standing, the last used one first
	of    map[chat.ThreadID]*list.Element
}

// standing is a log, read up to a Seq, and what it came to at another one.
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

// get gives what is remembered of a thread, or something empty to remember.
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

// tell notes what a log came to at a Seq that the store has. It waits for nobody: while
// the log is being read by another, that is the more.
func (s *Standings) tell(thread chat.ThreadID, is chat.Standing, last uint64) {
	if s == nil {
		return
	}
	if st := s.get(thread); st.mu.TryLock() {
		st.told, st.toldAt = is, last
		st.mu.Unlock()
	}
}

// Standing says what is known of a thread, with what still waits in its inbox.
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

// ask reads what came since it was told or read last.
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
