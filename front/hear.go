package front

import (
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
