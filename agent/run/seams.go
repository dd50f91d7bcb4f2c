// Package run drives the agent over a store: it claims a thread, asks the pure
// agent for the next action, performs it, commits the outcome, and draws the view,
// again and again until the thread waits or is done. It knows no platform and
// no provider; what it needs of them it declares here as small interfaces.
package run

import (
	"context"
	"time"

	"nod/chat"
	"nod/llm"
)

// Drawer shows posts on one platform. The run calls it for different threads
// concurrently. For one thread it makes one call at a time, except that the first Post
// of its steps goes on beside the others.
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
	// Working shows what the bot does in the thread, where the platform has a sign for
	// that: at each change, and again at each [chat.Mark]. The zero Work, or one that
	// waits for people, is the last call before the thread is let go. It must not block.
	Working(thread chat.ThreadID, w chat.Work)
}

// Members knows the memberships of people on a platform.
type Members interface {
	// Members says which people are in a group or role now. rule is "group:ID" or
	// "role:ID". An error means none.
	Members(ctx context.Context, thread chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error)
	// Who looks the account of somebody up who decides in a thread: its name, and in
	// Barred why it may not. channel is as in chat.ThreadID. An error means that it may not.
	Who(ctx context.Context, channel string, u chat.User) (chat.User, error)
	// Possible says whether anybody in the thread could be in it at all; of
	// "anyone", whether there may be more than one person. In doubt it says
	// yes: then nobody approves, and the call expires.
	Possible(ctx context.Context, thread chat.ThreadID, rule string) bool
}

// Platform is the run's view of an adapter. The run calls only the abilities in Able;
// [chat.Unable] stands for the rest.
type Platform interface {
	Able() chat.Able
	// Direct says whether a thread is the direct conversation with one person.
	Direct(thread chat.ThreadID) bool
	Drawer
	Members
	// Stood is since when a message of the bot's stands, by the clock of
	// chat.Message.Sent. Zero: not known.
	Stood(ref chat.MessageRef) time.Time
	// Grow shows the growing posts of a thread (a text, steps), in place of the earlier
	// ones. They go once the final post is made, or with the next call, which has no
	// posts once nothing grows. It must not block.
	Grow(thread chat.ThreadID, posts []chat.Post)
	// AskWhy asks one person, in private, for the mistake in an answer. Their text
	// comes back as a Feedback. If it fails, they are asked in words.
	AskWhy(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef) error
	// Headline is the first line that a card of the bot's shows now, and its digest: an
	// earlier process may have drawn more than the log knows. Errors are as for Edit.
	Headline(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef) (chat.Shown, error)
	// Visit gives a person's view. If it fails, that is the thread in which they write.
	Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error)
	// Copy shows a card outside of its thread. place is channel:ID, or user:ID for the
	// direct conversation with somebody. It returns the card's place, as Edit takes it,
	// and the message. Errors are as for Post, and [chat.ErrElsewhere] for a place on
	// another platform.
	Copy(ctx context.Context, place string, p chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error)
	// Deciders lists at most most people whom approver rules name. It leaves out people
	// whom the platform bars, and a person alone with the bot in the thread. The
	// platform could not resolve the rules in unknown. After an error, asking again may
	// help.
	Deciders(ctx context.Context, thread chat.ThreadID, rules []string, most int) (who []chat.User, unknown []string, err error)
}

// Lobby lists waiting approvals for a person, in the threads of a platform that they
// see; an Inbox is one.
type Lobby interface {
	Waiting(ctx context.Context, platform string, v chat.Visit) (chat.Home, error)
}

// Toolbox runs tools. It is called concurrently. The error is for the operator; the
// model's part of a failure is in the Result.
type Toolbox interface {
	Call(ctx context.Context, desk chat.Desk, call llm.Call) (llm.Result, error)
}
