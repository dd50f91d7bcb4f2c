// Package gateway keeps the sessions of Discord's Gateway alive, one a shard
// (https://discord.com/developers/docs/events/gateway). It hands every event to a
// [Host] and moves on only past the events that the host has put, so that a resume
// brings the others again. It knows nothing of messages.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/chat/inbound"
)

// APIVersion is the version of Discord's API that the program speaks.
const APIVersion = "10"

// Options set up a [Gateway].
type Options struct {
	Token   string
	Shards  int         // 0: as many as Discord recommends
	Content func() bool // the bot reads messages that don't call it
	Notes   Notes
	Logger  *slog.Logger
	Observe inbound.Observe
	Now     func() time.Time
	Process string                    // the name of this process among all that share the store
	Ended   func(process string) bool // one of them surely runs no more

	Stagger time.Duration // between two new sessions
	Pause   time.Duration // before connecting again, doubled with each failure
	Told    time.Duration // for the next guild to be told of
	Greet   time.Duration // for a session to be resumed
	Beat    time.Duration // between two notes of a session
}

// Notes keep bookmarks for the next process.
type Notes interface {
	Note(ctx context.Context, name string, value []byte) error
	Noted(ctx context.Context, name string) ([]byte, error)
}

// Host is what a bot does with its sessions. Shards call it concurrently.
type Host interface {
	// Start asks Discord how to connect.
	Start(ctx context.Context) (Start, error)
	// Self is the id of the bot; "" before the sign-in. Greeted gets the bot's user as
	// Discord tells of it with a new session.
	Self() string
	Greeted(user json.RawMessage)
	// Receive takes an event in. It returns once the event waits in its lane.
	Receive(ctx context.Context, e Event)
	// Missed asks for a look for messages and votes, Recount for one for votes alone.
	Missed()
	Recount()
	// Remember notes how far threads were heard, before newer events hide a gap.
	Remember(ctx context.Context)
	Malformed(kind string)
}

// Event is an event of the Gateway.
type Event struct {
	Kind string
	Data json.RawMessage
	Late bool          // Discord delivers it again: another process may know it
	Hold func() func() // keeps the bookmark before the event until the returned function is called
}

// Gateway is the sessions of one process.
type Gateway struct {
	o       Options
	host    Host
	settled func() // all was looked for
	url     string // where to connect without a session

	mu     sync.Mutex        // for the shards' state, too
	next   map[int]time.Time // when the next session of a group may begin
	shards []*shard
	gap
}

// New makes a Gateway. settled is called when everything that was missed was looked for.
func New(o Options, host Host, settled func()) *Gateway {
	return &Gateway{o: o, host: host, settled: settled, next: map[int]time.Time{}}
}

// ErrTooFew is the error of [Gateway.Run] when Discord wants more shards.
var ErrTooFew = errors.New("there are too many guilds for so few shards")

// Run keeps n shards connected, as Discord said how to, until ctx is done.
func (g *Gateway) Run(ctx context.Context, n int, how Start) error {
	shards := g.make(n, how.SessionStartLimit.MaxConcurrency)
	g.mu.Lock()
	g.shards, g.url = shards, how.URL
	g.mu.Unlock()
	all, ctx := errgroup.WithContext(ctx)
	for _, s := range shards {
		all.Go(func() error { return s.keep(ctx) })
	}
	return all.Wait()
}

// make makes the shards, with the times at which they may begin. Shards of one group begin
// one after the other, in order, as Discord wants it.
func (g *Gateway) make(n, concurrent int) (out []*shard) {
	for i := range n {
		turn := g.turn(i%max(1, concurrent), g.o.Now())
		out = append(out, &shard{g: g, n: i, of: n, begun: make(chan struct{}, 1), turn: turn, open: map[int64]int{}})
	}
	return out
}

// Close notes where the next process goes on. Call it after Run, once all events are put.
func (g *Gateway) Close(ctx context.Context) {
	for _, s := range g.shards {
		s.note(ctx, true)
	}
}

// Start is how to connect
// (https://discord.com/developers/docs/events/gateway#get-gateway-bot).
type Start = discordgo.GatewayBotResponse

// turn takes the next turn of a group of shards, and says when it is: Discord allows one
// new session in 5 s, of each of so many groups.
func (g *Gateway) turn(group int, now time.Time) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.next[group]
	if at.Before(now) {
		at = now
	}
	g.next[group] = at.Add(g.o.Stagger)
	return at
}
