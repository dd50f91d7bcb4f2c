package front

import (
	"context"
	"slices"
	"time"

	"nod/chat"
	"nod/chat/inbound"
)

// The ways in which a thread is followed that the bot was called into.
const (
	FollowCallers  = "callers"  // whoever called the bot there need not mention it again
	FollowThread   = "thread"   // nobody need
	FollowMentions = "mentions" // everybody has to
)

// Alerts takes the messages of bots that are alerts. A bot is platform:ID.
type Alerts interface {
	// Named says whether messages of one of these bots are alerts.
	Named(bots ...string) bool
	// Heard takes a message of such a bot. thread is where it is to be answered. ours is
	// false where it is no alert after all. An error means that it is not durable.
	Heard(ctx context.Context, bots []string, thread chat.ThreadID, m chat.Message) (ours bool, err error)
}

// Alert takes the message of a bot that may be an alert. read makes it readable.
func (c Common) Alert(ctx context.Context, platform string, ids []string, thread chat.ThreadID, read func() chat.Message) (ours bool, err error) {
	var bots []string
	for _, id := range ids {
		if id != "" {
			bots = append(bots, platform+":"+id)
		}
	}
	if c.Alerts == nil || !c.Alerts.Named(bots...) {
		return false, nil
	}
	return c.Alerts.Heard(ctx, bots, thread, read())
}

// Spoken is a message of a thread, before it is known whether it is for the bot.
type Spoken struct {
	By      chat.UserID
	Starts  bool // they started the thread
	Called  bool // it calls the bot: it mentions it, or nobody else reads it
	Others  bool // it mentions other people
	Text    string
	Sent    time.Time
	Follows string // how the thread is followed
	// Narrow says that nobody is answered without a mention as long as no callers are known.
	Narrow bool
	// Outside says that it is the message of a bot, or of a person who is not heard.
	Outside bool
}

// Hears says whether a message of a thread is for the bot. One that calls nobody is for it
// as an aside: context for the next question.
func Hears(st chat.Standing, m Spoken) (ours, aside bool) {
	switch {
	case m.Called && !m.Outside:
		return true, false
	case m.Sent.Before(st.First):
		return false, false // a look after a gap finds it; it was quoted when the bot was called
	case !m.Outside && (st.Running && inbound.IsStop(m.Text) || st.Known && inbound.IsMute(m.Text)):
		return true, false
	case !st.Known, m.Outside:
		return st.Known, true
	}
	known := len(st.Callers) > 0
	stranger := known && !m.Starts && !slices.Contains(st.Callers, m.By)
	switch m.Follows {
	case FollowMentions:
		return true, true
	case FollowThread:
		return true, m.Others || st.Muted
	}
	return true, m.Others || st.Muted || stranger || m.Narrow && !known
}
