package front

import (
	"context"
	"time"

	"nod/chat"
	"nod/chat/outbox"
)

// Wire is how one platform is spoken to: everything else is the [Front]'s. The Front calls
// it concurrently, and none of it may block for longer than the platform takes. Errors are
// an [outbox.Lost] where it is not known whether a call took effect; [Gone], or another
// [chat.ErrGone], where nothing can be said or found in that place any more;
// [chat.Refused] where the platform takes it in no form; anything else may pass.
//
// Able, Stood, Grow, AskWhy, Headline and Visit are those of the run's platform: a wire that has
// none embeds [chat.Unable].
type Wire interface {
	// Send makes the message, or messages, of a post and gives the reference of the first.
	// With look, an earlier attempt under the same key may have got through: it looks for
	// that first. A zero reference is a message that the platform does not show.
	Send(ctx context.Context, thread chat.ThreadID, m Message, look bool) (chat.MessageRef, error)
	// Change makes a message that Send made show something else. It asks m.Skip last.
	Change(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, m Message) error
	// Mark puts the bot's emoji on a message. Repeating it is harmless.
	Mark(ctx context.Context, ref chat.MessageRef, emoji string, p outbox.Priority) error
	// Whisper tells one person something about a message, alone where the platform can.
	Whisper(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef, text string) error
	// Working shows what the bot does now. It must not block.
	Working(thread chat.ThreadID, w chat.Work)
	// Link is the address of a message; "" where it has none.
	Link(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef) string

	// Reactions lists the reactions of people that stand on a message now; ones that
	// p.Approve and p.Deny don't name may be left out. Where all are looked at, nobody
	// waits for it.
	Reactions(ctx context.Context, p chat.Pending, all bool) ([]chat.Reaction, error)
	// Since has everything put that was missed, from marks on and so much further back.
	// found says that the gap is over.
	Since(ctx context.Context, marks []chat.Watermark, overlap time.Duration) (found bool, err error)

	// Who looks a person up now, and says in Barred why they may not decide in a thread:
	// channel is as in [chat.ThreadID], "" their direct conversation with the bot.
	Who(ctx context.Context, channel string, u chat.User) (chat.User, error)
	// People lists whom a rule of approvers means; known is false where the platform does
	// not tell. A rule of another platform means nobody.
	People(ctx context.Context, thread chat.ThreadID, rule string, most int) (who []chat.User, known bool, err error)
	// Direct says whether a thread is the direct conversation with one person, and Partner
	// who that is; "" in doubt, and where it is none.
	Direct(thread chat.ThreadID) bool
	Partner(ctx context.Context, thread chat.ThreadID) chat.UserID
	// Members and Possible are those of the run's platform.
	Members(ctx context.Context, thread chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error)
	Possible(ctx context.Context, thread chat.ThreadID, rule string) bool
	// Place opens channel:ID, or user:ID for the direct conversation with somebody. It
	// gives [chat.ErrElsewhere] for a place of another platform.
	Place(ctx context.Context, place string) (chat.ThreadID, error)

	Able() chat.Able
	Stood(ref chat.MessageRef) time.Time
	Grow(thread chat.ThreadID, posts []chat.Post)
	AskWhy(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef) error
	Headline(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef) (chat.Shown, error)
	Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error)
}

// Message is a post as a wire gets it.
type Message struct {
	chat.Post
	Card    *Card          // of an approval
	Was     *chat.Approval // what a card showed before, as far as this process knows
	Calls   []string       // in markup, who is mentioned before a text that calls them
	Earlier string         // the address of the answer in whose place this one stands; "": none
	// Skip is asked right before a change is made, and says whether it has become
	// pointless; nil: it has not.
	Skip func() bool
}

// Floats says whether nobody waits for a change, and a newer one may take its place: of
// steps at work.
func (m Message) Floats() bool { return m.Steps != nil && !m.Steps.Done }

// Linked is the text, if it is one, with a link to the earlier answer.
func (m Message) Linked() *chat.Text {
	if m.Text == nil {
		return nil
	}
	return m.Text.Linked(func(chat.MessageRef) string { return m.Earlier })
}

// Gone is a place in which nothing can be said, or found, any more.
type Gone struct {
	Said chat.Refused // how the platform says it
	Err  error
}

func (g Gone) Error() string { return chat.ErrGone.Error() + ": " + g.Err.Error() }

// Unwrap makes it a [chat.ErrGone].
func (g Gone) Unwrap() []error { return []error{chat.ErrGone, g.Err} }
