package form

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// Ask reads the present approval of a call from the store; ok is false if there is
// none.
type Ask = func(ctx context.Context, thread chat.ThreadID, call string) (p chat.Approval, ok bool, err error)

// AgainLabel is the label of the button that opens such a form.
const AgainLabel = "Edit and run again"

// CardWait is how long the store may take to give a form's values.
const CardWait = 1500 * time.Millisecond

// Card gives the approval that somebody wants to change: the one that this process
// drew, if they clicked on that, else the present one. ok is false if there is nothing
// left to change.
func (s *Shown) Card(ctx context.Context, ask Ask, thread chat.ThreadID, call, digest string) (p chat.Approval, ok bool, err error) {
	if p, ok = s.Find(thread, call, digest); !ok {
		ctx, cancel := context.WithTimeout(ctx, CardWait)
		defer cancel()
		if p, ok, err = ask(ctx, thread, call); err != nil {
			return p, false, fmt.Errorf("look at a card: %w", err)
		}
	}
	return p, ok && p.Outcome == "", nil
}
