package run

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"nod/agent"
	"nod/chat"
)

// mostStandings is of how many threads it is remembered what is known of them.
const mostStandings = 2000

// Standings remembers what the logs of threads came to, so that every message of
// a thread costs what is new in it, not what is old. It is safe for concurrent
// use; other processes may write to the same threads.
type Standings struct {
	mu    sync.Mutex
	order *list.List // of *standing, the last used one first
	of    map[chat.ThreadID]*list.Element
}

// standing is a log, read up to a Seq.
type standing struct {
	mu     sync.Mutex
	thread chat.ThreadID
	log    *agent.Log
	last   uint64
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

// Standing says what is known of a thread, with what still waits in its inbox.
func (i Inbox) Standing(ctx context.Context, thread chat.ThreadID) (chat.Standing, error) {
	st := &standing{thread: thread}
	if i.Standings != nil {
		st = i.Standings.get(thread)
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	tail, err := i.Store.Tail(ctx, thread, st.last)
	if err == nil && (tail.Base > st.last+1 || tail.Last < st.last) && st.last > 0 {
		st.log, st.last = nil, 0
		tail, err = i.Store.Tail(ctx, thread, 0)
	}
	if err != nil {
		return chat.Standing{}, fmt.Errorf("read thread: %w", err)
	}
	if st.log == nil {
		st.log = agent.NewLog(nil, agent.Claim{})
	}
	st.log.Append(tail.Log...)
	st.last = tail.Last
	return st.log.Standing(tail.Inbox...), nil
}
