package chat

import (
	"context"
	"fmt"
	"time"
)

// Visit is somebody who looks at the bot outside of any conversation.
type Visit struct {
	Who User
	// Sees says whether they see a thread: of others they learn nothing.
	Sees func(ThreadID) bool
	// Member says whether they are in a group or role.
	Member func(ctx context.Context, thread ThreadID, rule string) (bool, error)
	// Direct is a thread of their direct conversation with the bot. It is zero unless the
	// platform says that the conversation is theirs.
	Direct ThreadID
	// Link is the address of a message; "" where it has none. It may be nil.
	Link func(ThreadID, MessageRef) string
}

// Home is a person's overview outside of any conversation: their waiting approvals, the
// used part of today's limits, the facts of [Visit.Direct], and the tools.
type Home struct {
	Waiting []Waits // the oldest deadline first
	Further int     // more of these
	Unread  int     // approvals of threads that they see, with later deadlines, which nobody looked into
	Limits  []Allowance
	Facts   []string
	Tools   []Offer
}

// Rest tells of the approvals that nobody looked into; "" if there are none.
func (h Home) Rest() string {
	switch h.Unread {
	case 0:
		return ""
	case 1:
		return "One approval with a later deadline waits too. I did not look whether it waits for you."
	}
	return fmt.Sprintf("%d approvals with later deadlines wait too. I did not look whether they wait for you.", h.Unread)
}

// Waits is an approval that somebody may give now. It says nothing else of its
// thread, not even the arguments.
type Waits struct {
	Thread    ThreadID
	Ref       MessageRef
	Number    int
	Tool      string
	Requester User
	Deadline  time.Time
}

// Allowance is a limit of today and its used part, in words.
type Allowance struct {
	Of   string // such as `what one person may use in a day`
	Used string
	Most string
}

// Offer is a tool, as people are told of it.
type Offer struct {
	Name  string
	About string // one sentence
	Risk  string // runs by itself, asks for approval by some people, or is off
}
