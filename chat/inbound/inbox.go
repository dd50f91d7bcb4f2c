// Package inbound is the way of an event from a platform to the store. The one
// idea is that an event is put, durably and under ids by which a repeat is
// known, before the platform hears that it was received. [Inbox] is where it is
// put; [Lanes] have events that are about one thing put in the order in which
// they came, and all others side by side; [Observe] hears what happened on the
// way.
//
// It knows no platform: which ids an event has, and which lane it belongs in, is
// for the adapter to say.
package inbound

import (
	"context"
	"iter"
	"time"

	"nod/chat"
)

// Inbox is where an adapter puts events, and where it asks about threads. It is
// called concurrently. When a method that takes event ids returns nil, the
// event is safe and the platform may be told so; fresh is false for one that
// was known. After an error it may or may not have been put: putting it again,
// under the same ids, does no harm.
type Inbox interface {
	Message(ctx context.Context, thread chat.ThreadID, m chat.Message, eventIDs ...string) (fresh bool, err error)
	Reaction(ctx context.Context, r chat.Reaction, eventIDs ...string) (fresh bool, err error)
	Edited(ctx context.Context, ref chat.MessageRef, text string, eventIDs ...string) (fresh bool, err error)
	Deleted(ctx context.Context, ref chat.MessageRef, eventIDs ...string) (fresh bool, err error)
	Halt(ctx context.Context, thread chat.ThreadID, by chat.User, eventIDs ...string) (fresh bool, err error)
	Keep(ctx context.Context, thread chat.ThreadID, data []byte) (blob string, err error)
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) // chat.ErrNoFile: it is not kept any more
	Standing(ctx context.Context, thread chat.ThreadID) (chat.Standing, error)
	Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[chat.Watermark, error]
	Pending(ctx context.Context, platform string) iter.Seq2[chat.Pending, error]
	Steps(ctx context.Context, thread chat.ThreadID, turn string) (chat.Steps, bool, error)
	Note(ctx context.Context, name string, value []byte) error // of the adapter's own
	Noted(ctx context.Context, name string) ([]byte, error)
}

// Opinions is an Inbox that takes what people think of answers; text is what was
// wrong.
type Opinions interface {
	Feedback(ctx context.Context, on chat.MessageRef, by chat.User, good bool, text string, eventIDs ...string) (fresh bool, err error)
}

// Reasons is an Inbox that takes why somebody denied a call; "" that they did not
// say.
type Reasons interface {
	Reason(ctx context.Context, thread chat.ThreadID, call string, by chat.User, text string, eventIDs ...string) (fresh bool, err error)
}

// Observe is told what happens to a connection, for metrics. A nil function is
// not called; none may block.
type Observe struct {
	Reconnected func()              // it was lost, and is there again
	Redelivered func()              // the platform sent an event again
	Duplicate   func()              // an event was known already
	Malformed   func()              // an event could not be understood
	Limited     func(bucket string) // the platform refused a call as one too many
}

// Count calls f, unless it is nil.
func Count(f func()) {
	if f != nil {
		f()
	}
}

// Put counts an event that was known already. A reaction that means nothing is
// not fresh either.
func (o Observe) Put(fresh bool) {
	if !fresh {
		Count(o.Duplicate)
	}
}
