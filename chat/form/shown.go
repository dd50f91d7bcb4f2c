package form

import (
	"strings"

	"nod/chat"
	"nod/chat/bounded"
)

// Shown remembers the approvals that wait and that this process drew: a form has to
// open faster than a store may answer.
type Shown struct {
	of bounded.Map[shownCall, chat.Approval]
}

type shownCall struct {
	thread chat.ThreadID
	call   string
}

// Drew notes how an approval is drawn now.
func (s *Shown) Drew(thread chat.ThreadID, p *chat.Approval) {
	if key := (shownCall{thread, p.Call}); p.Outcome != "" {
		s.of.Take(key)
	} else {
		s.of.Put(key, *p)
	}
}

// Find gives the approval of a call as it was drawn, if the click was on that card:
// digest is the card's digest, or its beginning.
func (s *Shown) Find(thread chat.ThreadID, call, digest string) (p chat.Approval, ok bool) {
	p, ok = s.of.Get(shownCall{thread, call})
	return p, ok && strings.HasPrefix(p.Digest, digest)
}
