// Package front is what every platform does alike: it draws cards and their
// outcomes, takes votes, opens forms and reads what people send with them, decides who
// is heard, and finds what was missed. A platform has only a [Wire] of its own: it sends
// and changes messages, and tells of clicks as (verb, call, digest, person).
//
// The package knows no platform's markup and no agent. What people do becomes an entry
// of the store through an [Inbox]; what the run wants to show goes out through the Wire.
package front

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/catchup"
	"nod/chat/form"
	"nod/chat/inbound"
	"nod/chat/outbox"
)

// Common are the settings that every platform has.
type Common struct {
	Follow    string          // how threads are followed that the bot was called into: [FollowCallers] and others
	AllowBots []string        // the bots that are heard
	Allow     []string        // who is heard, as in [Allowed]; empty: everyone
	Channels  []string        // in which approvals are to stand too
	Direct    bool            // and in direct conversations with those who may decide
	NoButtons bool            // approvals have emoji only
	Retries   bool            // another try of an answer can be asked for
	Emoji     map[string]bool // reactions that can mean something, in normal form; nil: any

	Inbox   Inbox
	Alerts  Alerts // nil: no bot's messages are alerts
	Origin  Origin // nil: posts bear no sign
	Logger  *slog.Logger
	HTTP    *http.Client
	Observe inbound.Observe
	Now     func() time.Time
	Settle  time.Duration // before looking for what may have got through; default 2 s
	Pace    float64       // times the published rate limits, for tests; default 1
}

// WithDefaults fills in what is not set.
func (c Common) WithDefaults() Common {
	c.Settle, c.Pace = cmp.Or(c.Settle, 2*time.Second), cmp.Or(c.Pace, 1)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.HTTP = cmp.Or(c.HTTP, &http.Client{Timeout: time.Minute})
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Outbox makes the outbox of a platform, of which budget says what it allows.
func (c Common) Outbox(platform string, budget func(bucket string) outbox.Budget) *outbox.Outbox {
	limited := func(bucket string, _ time.Duration) {
		if c.Observe.Limited != nil {
			c.Observe.Limited(bucket)
		}
	}
	waited := func(p outbox.Priority, d time.Duration) {
		if c.Observe.Waited != nil {
			c.Observe.Waited(p.String(), d)
		}
	}
	failed := func(_ outbox.Priority, err error) { c.Logger.Debug("call "+platform, "error", err) }
	return outbox.New(outbox.Options{Budget: budget, Hooks: outbox.Hooks{Waited: waited, Paused: limited, Failed: failed}})
}

// Options set up a [Front].
type Options struct {
	Common
	Platform string // as in [chat.ThreadID]; begins the ids of events
	Dialect  Dialect
	Room     form.Bounds // of a form on this platform
	Listens  func() bool // events of all conversations arrive; nil: it is not noted when they do
	// Args writes arguments as a card shows them.
	Args func(args string) string
	// Open opens a form for somebody who clicked no longer than Trigger ago; nil: only the
	// answer to a click opens one.
	Open    func(ctx context.Context, f Form) error
	Trigger time.Duration
}

// Front is one platform's side of the agent: to the run it is the platform. Its methods may
// be called concurrently.
type Front struct {
	Wire
	Heard *catchup.Heard // how far threads were heard when a gap began

	o        Options
	drawn    outbox.Versions
	shown    bounded.Map[chat.MessageRef, chat.Approval] // what cards show
	votes    *catchup.Votes
	looks    *catchup.Looks // for messages
	recounts *catchup.Looks // for votes
	listened *catchup.Listened
	denials  bounded.Map[clicked, denial]
	explains bounded.Map[clicked, bool] // who was asked why they denied a call
	asked    bounded.Map[clicked, bool] // who was asked what was wrong with an answer
	opening  sync.WaitGroup             // forms
	born     atomic.Int64               // [catchup.Birth] of the store, in microseconds
}

// New makes the Front of a platform that is spoken to by a wire.
func New(w Wire, o Options) *Front {
	o.Common = o.WithDefaults()
	f := &Front{Wire: w, o: o, Heard: catchup.NewHeard(o.Inbox.Watermarks, o.Platform, catchup.LookBack, o.Now)}
	f.listened = catchup.NewListened(o.Inbox, o.Platform+" listened", o.Now)
	f.votes = catchup.NewVotes(catchup.Ballot{Standing: w.Reactions, Put: f.putFound, Now: o.Now})
	failed := func(err error) { o.Logger.Warn("look for what was missed", "error", err) }
	f.looks = catchup.NewLooks(f.FindMessages, failed, lookAgain)
	f.recounts = catchup.NewLooks(func(ctx context.Context, _ time.Duration) error { return f.FindVotes(ctx) }, failed, lookAgain)
	return f
}
