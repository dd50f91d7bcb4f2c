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
	// Narrow says that nothing is kept as an aside but where callers are followed, and that
	// nobody is answered there without a mention as long as no callers are known.
	Narrow bool
}

// Hears says whether a message of a thread is for the bot. One that is said among people
// is for it as an aside: context for whatever is asked next.
func Hears(st chat.Standing, m Spoken) (ours, aside bool) {
	switch {
	case m.Called:
		return true, false
	case m.Sent.Before(st.First):
		return false, false // a look after a gap finds it; it was quoted when the bot was called
	case st.Running && inbound.IsStop(m.Text), st.Known && inbound.IsMute(m.Text):
		return true, false
	case !st.Known, m.Follows == FollowMentions:
		return false, false
	}
	stranger := m.Follows != FollowThread && len(st.Callers) > 0 && !m.Starts && !slices.Contains(st.Callers, m.By)
	aside = m.Others || st.Muted || stranger
	switch known := len(st.Callers) > 0; {
	case m.Narrow && m.Follows == FollowThread:
		return !aside, false
	case m.Narrow:
		return known, aside
	default:
		return known || !aside, aside
	}
}
