package form

import (
	"context"
	"fmt"
	"time"

	"nod/chat"
)

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
