package form

import (
	"strings"
	"sync"

	"nod/chat"
)

// Shown remembers the approvals that wait and that this process drew: a form has to
// open faster than a store may answer.
type Shown struct {
	mu sync.Mutex
	of map[string]chat.Approval // by thread and call
}

// mostShown is how many are remembered.
const mostShown = 2000

// Drew notes how an approval is drawn now.
func (s *Shown) Drew(thread chat.ThreadID, p *chat.Approval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := thread.String() + " " + p.Call
	if p.Outcome != "" {
		delete(s.of, key)
		return
	}
	if s.of == nil || len(s.of) >= mostShown {
		s.of = map[string]chat.Approval{}
	}
	s.of[key] = *p
}

// Find gives the approval of a call as it was drawn, if that is what somebody
// clicked on: digest is that of the card, or how it begins.
func (s *Shown) Find(thread chat.ThreadID, call, digest string) (p chat.Approval, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok = s.of[thread.String()+" "+call]
	return p, ok && strings.HasPrefix(p.Digest, digest)
}
