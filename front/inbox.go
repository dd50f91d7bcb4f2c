package front

import (
	"context"
	"iter"
	"time"

	"nod/chat"
)

// Inbox is the way into the store, and what a platform asks it about threads. When a
// method that puts something returns nil, the event is durable and the platform may be
// told so; fresh is false for an event that is known by one of its ids. refused is why
// the store took nothing, for the person who sent it.
type Inbox interface {
	Message(ctx context.Context, thread chat.ThreadID, m chat.Message, eventIDs ...string) (fresh bool, err error)
	Reaction(ctx context.Context, r chat.Reaction, eventIDs ...string) (fresh bool, err error)
	Edited(ctx context.Context, ref chat.MessageRef, text string, eventIDs ...string) (fresh bool, err error)
	Deleted(ctx context.Context, ref chat.MessageRef, eventIDs ...string) (fresh bool, err error)
	Halt(ctx context.Context, thread chat.ThreadID, by chat.User, eventIDs ...string) (fresh bool, err error)
	Left(ctx context.Context, thread chat.ThreadID, by chat.User, eventIDs ...string) (fresh bool, err error)
	Reason(ctx context.Context, thread chat.ThreadID, call string, by chat.User, text string, eventIDs ...string) (fresh bool, err error)
	Feedback(ctx context.Context, on chat.MessageRef, by chat.User, good bool, text string, eventIDs ...string) (fresh bool, err error)
	Change(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error)
	Code(ctx context.Context, thread chat.ThreadID, c chat.Code, eventIDs ...string) (refused string, err error)
	RunAgain(ctx context.Context, thread chat.ThreadID, c chat.Change, eventIDs ...string) (refused string, err error)

	// Judged says to a person who denied a call what the judge said of that; "" as long as
	// it said nothing.
	Judged(ctx context.Context, thread chat.ThreadID, call string, by chat.UserID) (said string, err error)
	// Card gives an approval as it would be drawn now; ok is false where there is none.
	Card(ctx context.Context, thread chat.ThreadID, call string) (p chat.Approval, ok bool, err error)
	// Again gives a call of a turn that is over; why says why it can't run again.
	Again(ctx context.Context, thread chat.ThreadID, call string) (v chat.Again, why string, err error)
	Steps(ctx context.Context, thread chat.ThreadID, turn string) (s chat.Steps, ok bool, err error)
	Standing(ctx context.Context, thread chat.ThreadID) (chat.Standing, error)
	Home(ctx context.Context, platform string, v chat.Visit) (chat.Home, error)
	Files(ctx context.Context, thread chat.ThreadID) (names []string, err error)
	History(ctx context.Context, thread chat.ThreadID) ([]chat.Line, error)
	Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[chat.Watermark, error]
	Pending(ctx context.Context, platform string) iter.Seq2[chat.Pending, error]

	Keep(ctx context.Context, thread chat.ThreadID, data []byte) (blob string, err error)
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) // [chat.ErrNoFile]: it is not kept any more
	Note(ctx context.Context, name string, value []byte) error
	Noted(ctx context.Context, name string) ([]byte, error)
}

// Present is a post of the past as it would be drawn now: an approval that waits, with all
// that people may do about it.
func Present(ctx context.Context, in Inbox, thread chat.ThreadID, p *chat.Post) *chat.Post {
	if p == nil || p.Approval == nil || p.Approval.Outcome != "" {
		return p
	}
	card, ok, err := in.Card(ctx, thread, p.Approval.Call)
	if err != nil || !ok {
		return p // it can still be decided
	}
	now := *p
	now.Approval = &card
	return &now
}
