// Package slack connects nod to one Slack workspace. Events come in over
// Socket Mode and go into the store before Slack is told that they were
// received; what the run wants to show goes out through the Web API.
//
// Slack delivers an event to one of several sockets, sometimes twice,
// sometimes late, and not at all while no socket is open. So every event is put
// under ids by which a repeat is known, there are always several sockets, and
// after a gap what was missed is looked up ([Adapter.Run]). Slack has no
// idempotency key for posts either, so every post bears its own in its
// metadata, and is looked for before it is made a second time.
//
// The package speaks of threads and messages in the words of nod/chat only. It
// imports slack-go for the shapes of blocks.
package slack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/inbound"
	"nod/chat/outbox"
	"nod/chat/retry"
	"nod/front"
)

// Platform is the name of Slack in [chat.ThreadID].
const Platform = api.Platform

// Options set up an [Adapter].
type Options struct {
	front.Common
	AppToken string         // xapp-…: opens sockets
	BotToken string         // xoxb-…: everything else
	APIURL   string         // default https://slack.com/api/
	Sockets  int            // connections of this process; default 2
	DM       string         // thread (default) or flat
	Limits   map[string]int // calls of a method a minute, over the published ones
	External string         // people of other organisations: ignore (default), ask, allow
	Guests   string         // guests of the own workspace: ask (default), ignore, allow
	Groups   bool           // an approver rule names a user group
	Search   bool           // people's messages may let the bot search with their eyes
	// Shared notes the sockets of this process, and gives those of all that share the store.
	Shared func(own int) (all int)

	AckTimeout   time.Duration // for putting one event; default 2.5 s, as Slack waits 3 s
	NameWait     time.Duration // a message waits no longer for the names in it, and for those of a whole thread four times as long; default 800 ms
	Trigger      time.Duration // a click lets a window be opened for so long; default 2.8 s, as Slack takes 3 s
	PingInterval time.Duration // a socket without a ping for so long is replaced; default 30 s
	Stagger      time.Duration // between the first connections; default 10 s
}

const (
	mostAtOnce  = 512              // events that are being put
	longBackoff = 30 * time.Second // between two tries of a call that has to succeed
)

// Flat is the value of [Options].DM that is not the default.
const Flat = "flat"

// Adapter is one bot in one workspace. All methods may be called concurrently.
type Adapter struct {
	*front.Front
	*api.Eyes // of people whose messages let the bot search

	o       Options
	log     *slog.Logger
	web     *api.Client
	app     *api.Client                // with the app-level token, which only opens sockets
	self    atomic.Pointer[api.Whoami] // who the bot is; nil before the sign-in
	in      chan struct{}              // closed by the sign-in
	sockets *sockets

	names   lately[named]    // people and channels
	groups  lately[[]string] // who is in them
	lanes   *inbound.Lanes
	working *working
	titles  bounded.Map[chat.ThreadID, string]   // what threads are about, until their sessions are made
	hurry   sync.Map                             // what messages wait for: the lanes, by the functions that give it up
	changed bounded.Map[string, time.Time]       // when what changes there and back last did
	parts   bounded.Map[chat.MessageRef, string] // of the messages of long answers the first one's timestamp, as far as this process posted them
	shapes  *layout.Shapes
}

// New makes an adapter; [Adapter.Run] connects it.
func New(o Options) (*Adapter, error) {
	if o.AppToken == "" || o.BotToken == "" {
		return nil, errors.New("make the Slack adapter: both tokens are needed")
	}
	if o.Inbox == nil {
		return nil, errors.New("make the Slack adapter: an inbox is needed")
	}
	o = o.withDefaults()
	a := &Adapter{
		o: o, log: o.Logger, web: api.New(o.Client(o.BotToken)), in: make(chan struct{}),
		names: lately[named]{now: o.Now}, groups: lately[[]string]{now: o.Now}, lanes: inbound.NewLanes(mostAtOnce), working: newWorking(), shapes: &layout.Shapes{Now: o.Now},
	}
	a.app = api.New(o.Client(o.AppToken))
	a.Eyes = &api.Eyes{Web: a.web}
	a.sockets = &sockets{a: a, open: map[*session]time.Time{}}
	a.Front = front.New(a, front.Options{
		Common: o.Common, Platform: Platform, Dialect: layout.CardDialect, Room: layout.Roomy, Listens: a.Ready,
		Args: layout.Indented, Open: a.openForm, Trigger: o.Trigger,
	})
	return a, nil
}

func (o Options) withDefaults() Options {
	o.AckTimeout = cmp.Or(o.AckTimeout, 2500*time.Millisecond)
	o.NameWait = cmp.Or(o.NameWait, 800*time.Millisecond)
	o.Trigger = cmp.Or(o.Trigger, 2800*time.Millisecond)
	o.PingInterval = cmp.Or(o.PingInterval, 30*time.Second)
	o.Stagger = cmp.Or(o.Stagger, 10*time.Second)
	o.APIURL = cmp.Or(o.APIURL, "https://slack.com/api/")
	o.External, o.Guests = cmp.Or(o.External, trustIgnore), cmp.Or(o.Guests, trustAsk)
	if o.Sockets < 1 {
		o.Sockets = 2
	}
	o.Common = o.Common.WithDefaults()
	return o
}

// Client is how the Web API is called with a token.
func (o Options) Client(token string) api.Options {
	o = o.withDefaults()
	return api.Options{
		Address: o.APIURL, Token: token, HTTP: o.HTTP, Limits: o.Limits, Pace: o.Pace,
		Outbox: func(b func(string) outbox.Budget) *outbox.Outbox { return o.Outbox(Platform, b) },
	}
}

// Run connects and stays connected until ctx is done. It returns an error only
// for what connecting again can't mend, such as a token that Slack refuses.
// It looks for missed events once the first socket is open, and again after each time
// without one.
func (a *Adapter) Run(ctx context.Context) error {
	switch err := a.identify(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("sign in to Slack: %w", err)
	}
	a.Remember(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.web.Out.Run(ctx) })
	g.Go(func() error { a.Front.Run(ctx); return nil })
	g.Go(func() error { return a.mourn(ctx) })
	g.Go(func() error { return a.sockets.run(ctx) })
	err := g.Wait()
	a.working.stop() // nobody makes these calls any more
	a.sockets.reading.Wait()
	a.lanes.Wait()
	a.working.calls.Wait()
	a.Front.Wait()
	return err
}

// Ready says whether events arrive: a socket is open, and the look for what was
// missed has begun.
func (a *Adapter) Ready() bool {
	a.sockets.mu.Lock()
	defer a.sockets.mu.Unlock()
	return len(a.sockets.open) > 0 && a.sockets.begun.Load()
}

// Depth says how many calls wait for Slack's rate limits, by priority.
func (a *Adapter) Depth() map[string]int { return a.web.Out.DepthByName() }

// identify asks who the bot is, until Slack says so or refuses the token.
func (a *Adapter) identify(ctx context.Context) error {
	signIn := retry.Policy{First: time.Second, Longest: longBackoff, Final: api.Fatal, Failed: func(err error) {
		a.log.Warn("sign in to slack", "error", err)
	}}
	return signIn.Do(ctx, func(ctx context.Context) error {
		who, err := a.web.Whoami(ctx, outbox.Approval)
		if err == nil {
			a.self.Store(&who)
			close(a.in)
		}
		return err
	})
}

// mourn returns an error once the token is good for nothing any more. Slack has
// refused good tokens for a moment, so that it is asked again.
func (a *Adapter) mourn(ctx context.Context) error {
	for {
		select {
		case <-a.web.Dead:
		case <-ctx.Done():
			return nil
		}
		if _, err := a.web.Whoami(ctx, outbox.Approval); api.Fatal(err) {
			return fmt.Errorf("slack refuses the token: %w", err)
		}
	}
}

// signedIn waits until it is known who the bot is. Without that its own posts
// can't be told from those of others, and would be made again.
func (a *Adapter) signedIn(ctx context.Context) error {
	select {
	case <-a.in:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// who says who the bot is; empty before the sign-in.
func (a *Adapter) who() api.Whoami {
	if w := a.self.Load(); w != nil {
		return *w
	}
	return api.Whoami{}
}
