package operator

import (
	"context"
	"slices"

	"nod/chat"
	"nod/chat/bounded"
	"nod/memory"
)

// shelf keeps the logs that were looked at last, since a slider looks at the same one
// again and again. What is new is read each time, so that what was forgotten is
// forgotten here, too.
type shelf struct {
	read  memory.Reader
	known bounded.Map[chat.ThreadID, []memory.Entry]
}

// mostKept is how many logs are kept.
const mostKept = 8

// log gives a thread's log as it is now, without what waits in its inbox. Two who look at
// one thread read it twice.
func (s *shelf) log(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	if have, ok := s.known.Take(thread); ok {
		last := memory.LastSeq(have)
		t, err := s.read.Tail(ctx, thread, last)
		if err != nil {
			return nil, err
		}
		if t.Last >= last && t.Base <= last+1 && !slices.ContainsFunc(t.Log, erases) {
			have = append(slices.Clip(have), t.Log...)
			s.known.Put(thread, have)
			return have, nil
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
		s.known.Put(thread, all)
	}
	return all, nil
}

func erases(e memory.Entry) bool {
	switch e.Body.(type) {
	case memory.Forgot, memory.Erased:
		return true
	}
	return false
}
