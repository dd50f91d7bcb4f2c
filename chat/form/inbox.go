package form

import (
	"context"
	"fmt"
	"time"

	"nod/chat"
)

// Changes is what an Inbox is besides that lets people change the arguments of calls
// that wait. Card gives the approval of a call as it is now; ok is false where there is
// none. refused says what is wrong with a change.
type Changes interface {
	Card(ctx context.Context, thread chat.ThreadID, call string) (p chat.Approval, ok bool, err error)
	Change(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error)
}

// Reruns is what an Inbox is besides that lets people run calls of turns that are over
// again. Again gives what such a form is filled in with, or why there is none.
type Reruns interface {
	Again(ctx context.Context, thread chat.ThreadID, call string) (v chat.Again, why string, err error)
	RunAgain(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error)
}

// Put is [Changes.Change], or [Reruns.RunAgain].
type Put = func(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error)

// AgainLabel is what stands on the button that opens such a form.
const AgainLabel = "Edit and run again"

// CardWait is how long a store may take to say what a form is to be filled in with.
const CardWait = 1500 * time.Millisecond

// Card gives the approval of which somebody wants to change the call: as this process
// drew it, if it was that they clicked on, else as it is by now. ok is false where there
// is nothing to change any more.
func (s *Shown) Card(ctx context.Context, in Changes, thread chat.ThreadID, call, digest string) (p chat.Approval, ok bool, err error) {
	if p, ok = s.Find(thread, call, digest); !ok {
		ctx, cancel := context.WithTimeout(ctx, CardWait)
		defer cancel()
		if p, ok, err = in.Card(ctx, thread, call); err != nil {
			return p, false, fmt.Errorf("look at a card: %w", err)
		}
	}
	return p, ok && p.Outcome == "", nil
}

// TooLong says of a call that no form has room for its arguments, and what to do.
func TooLong(v chat.Again) string {
	return fmt.Sprintf("these arguments are too long for a form; in a message, `run %d {…}` does the same", v.Number)
}
