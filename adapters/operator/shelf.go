package operator

import (
	"context"
	"sync"

	"nod/chat"
	"nod/memory"
)

// shelf keeps the logs that were looked at last, since a slider looks at the same one
// again and again. What is new is read each time, so that what was forgotten is
// forgotten here, too.
type shelf struct {
	read memory.Reader

	mu    sync.Mutex
	known []*kept // the one looked at last comes last
}

type kept struct {
	thread chat.ThreadID
	log    []memory.Entry
}

// mostKept is how many logs are kept.
const mostKept = 8

// log gives a thread's log as it is now, without what waits in its inbox.
func (s *shelf) log(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	have := s.take(thread)
	if have != nil {
		last := memory.LastSeq(have.log)
		t, err := s.read.Tail(ctx, thread, last)
		if err != nil {
			return nil, err
		}
		if t.Last >= last && t.Base <= last+1 && !erased(t.Log) {
			have.log = append(have.log[:len(have.log):len(have.log)], t.Log...)
			s.put(have)
			return have.log, nil
		}
	}
	all, err := s.read.Read(ctx, thread)
	if err != nil {
		return nil, err
	}
	for len(all) > 0 && all[len(all)-1].Seq == 0 {
		all = all[:len(all)-1]
	}
	if len(all) > 0 {
		s.put(&kept{thread, all})
	}
	return all, nil
}

func erased(log []memory.Entry) bool {
	for _, e := range log {
		if _, ok := e.Body.(memory.Forgot); ok {
			return true
		}
	}
	return false
}

// take takes a log off the shelf; two who look at one thread read it twice.
func (s *shelf) take(thread chat.ThreadID) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, k := range s.known {
		if k.thread == thread {
			s.known = append(s.known[:i:i], s.known[i+1:]...)
			return k
		}
	}
	return nil
}

func (s *shelf) put(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, k)
	if len(s.known) > mostKept {
		s.known = s.known[1:]
	}
}
