// Package run drives the agent over a store: it claims a thread, asks the pure
// agent what to do, does it, commits what came of it, and has the view drawn,
// again and again until the thread waits or is done. It knows no platform and
// no provider; what it needs of them it declares here as small interfaces.
package run

import (
	"context"
	"time"

	"nod/chat"
	"nod/llm"
)

// Drawer shows things on one platform. The run calls it for different threads
// concurrently, and for one thread one call at a time, except that the first
// Post of its steps goes on beside the others.
type Drawer interface {
	// Post puts a message into the thread and returns its reference. It
	// returns once the platform has it: posting an answer or an approval holds
	// up the turn. With look, an earlier attempt under the same key may have got
	// through: look for that message first; so does a post that had to wait for
	// long, since its thread may have gone to another process meanwhile. The
	// bot's own reactions on an approval message belong to posting it.
	// [chat.ErrGone] and [chat.Refused] are final; anything else is tried again.
	Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error)
	// Edit makes a message that Post made show p. Repeating it is harmless. An
	// edit of steps that are not done returns at once and may be left out for
	// a newer one; any other returns once the platform has it.
	Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error
	// React puts the bot's emoji on a message. Repeating it is harmless.
	React(ctx context.Context, ref chat.MessageRef, emoji string) error
	// Whisper tells one person something about a message, so that only they
	// see it where the platform can do that. It is best effort.
	Whisper(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef, text string) error
	// Working shows, or stops showing, that the bot is at work in the thread,
	// where the platform has a sign for it. It must not block.
	Working(thread chat.ThreadID, on bool)
}

// Members knows who belongs to what on a platform.
type Members interface {
	// Member says whether the person is in a group or role now. rule is
	// "group:ID" or "role:ID". An error means no.
	Member(ctx context.Context, thread chat.ThreadID, who chat.UserID, rule string) (bool, error)
	// Possible says whether anybody in the thread could be in it at all; of
	// "anyone", whether there may be more than one person. In doubt it says
	// yes: then nobody approves, and the call expires.
	Possible(ctx context.Context, thread chat.ThreadID, rule string) bool
}

// Platform is what an adapter is to the run. The run calls what Able says that it can do,
// and does without the rest; [chat.Unable] stands for that.
type Platform interface {
	Able() chat.Able
	Drawer
	Members
	// Stood is since when a message of the bot's stands, by the clock of
	// chat.Message.Sent. Zero: not known.
	Stood(ref chat.MessageRef) time.Time
	// Grow shows posts of a thread (a text, steps) as far as they are written, in place
	// of all that it showed before. They go as soon as the thing itself is posted, or with
	// the next call, which is without posts once nothing is being written. It must not
	// block.
	Grow(thread chat.ThreadID, posts []chat.Post)
	// AskWhy asks one person, so that only they see it, what was wrong with an answer.
	// What they write comes back as a Feedback. Where it fails, they are asked in words.
	AskWhy(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef) error
	// Visit says what a person sees. Where it fails, that is the thread they write in.
	Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error)
	// Copy shows a card outside of its thread. place is channel:ID, or user:ID for the
	// direct conversation with somebody. It gives where the card stands, as Edit wants it,
	// and the message. An error is as of Post, and [chat.ErrElsewhere] for a place of
	// another platform.
	Copy(ctx context.Context, place string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error)
	// Deciders lists up to so many people whom rules of approvers mean, without those whom
	// the platform bars from deciding, and without the one who reads the thread alone with
	// the bot. unknown are rules of which the platform can't tell. The error says that
	// asking again may help.
	Deciders(ctx context.Context, thread chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error)
}

// Lobby knows what waits for a person in the threads of a platform that they see;
// an Inbox is one.
type Lobby interface {
	Waiting(ctx context.Context, platform string, v chat.Visit) (chat.Home, error)
}

// Toolbox runs tools. It is called concurrently. The error is for the
// operator; what the model should know of a failure is in the Result.
type Toolbox interface {
	Call(ctx context.Context, desk chat.Desk, call llm.Call) (llm.Result, error)
}
