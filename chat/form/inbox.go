package form

import (
	"context"
	"fmt"
	"time"

	"nod/chat"
)

// Put puts what somebody made of a call; refused is what is wrong with that.
type Put = func(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error)

// Ask asks the store for the approval of a call as it is now; ok is false where there is
// none.
type Ask = func(ctx context.Context, thread chat.ThreadID, call string) (p chat.Approval, ok bool, err error)

// AgainLabel is what stands on the button that opens such a form.
const AgainLabel = "Edit and run again"

// CardWait is how long a store may take to say what a form is to be filled in with.
const CardWait = 1500 * time.Millisecond

// Card gives the approval of which somebody wants to change the call: as this process
// drew it, if it was that they clicked on, else as it is by now. ok is false where there
// is nothing to change any more.
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

// TooLong says of a call that no form has room for its arguments, and what to do.
func TooLong(v chat.Again) string {
	return fmt.Sprintf("these arguments are too long for a form; in a message, `run %d {…}` does the same", v.Number)
}
