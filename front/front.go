// Package front is what every platform does alike: it draws cards and their
// outcomes, takes votes, opens forms and reads what people send with them, decides who
// is heard, and finds what was missed. A platform has only a [Wire] of its own: it sends
// and changes messages, and tells of clicks as (verb, call, digest, person).
//
// The package knows no platform's markup and no agent. What people do becomes an entry
// of the store through an [Inbox]; what the run wants to show goes out through the Wire.
package front

import (
	"log/slog"
	"time"

	"nod/chat/form"
	"nod/chat/inbound"
)

// Options set up a [Front].
type Options struct {
	Platform string // as in [chat.ThreadID]; begins the ids of events
	Inbox    Inbox
	Logger   *slog.Logger
	Observe  inbound.Observe
	Now      func() time.Time
	Retries  bool        // another try of an answer can be asked for
	Room     form.Bounds // of a form on this platform
}

// Front is one platform's side of the agent. Its methods may be called concurrently.
type Front struct{ o Options }

// New makes a Front.
func New(o Options) *Front { return &Front{o: o} }
