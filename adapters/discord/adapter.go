// Package discord connects nod to Discord. Events come in over the Gateway and
// go into the store before anything else happens; what the run wants to show
// goes out through the REST API.
//
// Discord repeats no event to a process that was not there, so after a new
// session what was missed is looked up ([Adapter.Run]); within a process a
// session is resumed from the last event that was taken in. Posts bear a nonce
// by which Discord knows a repeat for some minutes. After that they are looked
// for by what they say.
//
// The Gateway and REST are spoken directly. discordgo, from which the names of
// intents, permissions, error codes and components are taken, sleeps under locks
// when it is limited, repeats posts, notices a dead connection after minutes and
// then gives up its session, and connects for ever with a token that is refused.
package discord

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

	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/gateway"
	"nod/adapters/discord/layout"
	"nod/adapters/discord/people"
	"nod/chat"
	"nod/chat/bounded"
	"nod/chat/inbound"
	"nod/chat/outbox"
	"nod/chat/retry"
	"nod/front"
)

// Platform is the name of Discord in [chat.ThreadID].
const Platform = api.Platform

// Options set up an [Adapter].
type Options struct {
	front.Common               // Follow is [front.FollowMentions] by default, or FollowAuto; what reads all takes the MESSAGE_CONTENT intent
	Token        string        // of the bot
	APIURL       string        // default https://discord.com/api; the version is added
	Shards       int           // 0: as many as Discord recommends
	Version      string        // of the program
	Commands     bool          // register the application commands
	Guilds       []string      // that are served; empty: see [people.People.Serves]
	Tools        []string      // names that `/tools` suggests
	Archive      time.Duration // threads stay open at least so long after the last message; default 24 h
	Roles        []string      // those that an approver rule names
	Global       int           // calls a second; default 50
	Reads        bool          // messages that don't call the bot matter, whatever Follow is: those of a bot that are alerts
	// Process names this process among all that share the store. Ended says whether
	// one of them surely runs no more; false where that is not known.
	Process string
	Ended   func(process string) bool

	Stagger time.Duration // between two new sessions; default 5 s, as Discord asks
	Pause   time.Duration // before connecting again, doubled with each failure; default 1 s
	Told    time.Duration // for the next of the guilds to be told of, before what was missed is looked for; default 5 s
	Greet   time.Duration // for a session to be resumed; default 40 s
	Beat    time.Duration // between two notes of a session; default 2 s
	Defer   time.Duration // for an interaction, before it is answered with a promise; default 1.5 s, as Discord waits 3 s
	Lookup  time.Duration // for names and earlier messages that go along with a message; default 2 s
	Brief   time.Duration // how long a remark to one person stays; default 15 s
}

// FollowAuto is a value of [Options].Follow: callers where messages can be read, else mentions.
const FollowAuto = "auto"

// Adapter is one bot. All methods may be called concurrently.
type Adapter struct {
	*front.Front

	o     Options
	log   *slog.Logger
	rest  *api.Client
	atlas *atlas.Atlas
	self  identity
	gate  *gateway.Gateway

	homes   *homes
	lanes   *inbound.Lanes
	clicks  errgroup.Group // answers to interactions, apart from all other events: they have 3 s
	working working
	remarks remarks
	shown   bounded.Map[chat.MessageRef, string] // what messages of steps show: a change that nobody could see is left out
	asides  asides
	turns   turns
	people  *people.People
	told    bounded.Map[string, time.Time] // remarks that are made once in a while
}

// identity is who the bot is, and what its application may do.
type identity struct {
	me  atomic.Pointer[api.User]
	app atomic.Pointer[api.Application]
	in  chan struct{} // closed by the first sign-in
	do  sync.Once
}

// New makes an adapter; [Adapter.Run] connects it.
func New(o Options) (*Adapter, error) {
	if o.Token == "" {
		return nil, errors.New("make the Discord adapter: a token is needed")
	}
	if o.Inbox == nil {
		return nil, errors.New("make the Discord adapter: an inbox is needed")
	}
	o = o.withDefaults()
	a := &Adapter{
		o: o, log: o.Logger, rest: api.New(o.Client()),
		asides: asides{targets: bounded.Map[string, api.Message]{Most: mostClicks}}, homes: &homes{queue: make(chan opening, mostAtOnce)}, lanes: inbound.NewLanes(mostAtOnce),
		working: working{at: map[chat.ThreadID]*sign{}}, remarks: remarks{left: map[string]leaving{}},
	}
	a.self.in = make(chan struct{})
	a.clicks.SetLimit(mostClicks)
	a.atlas = atlas.New(a.self.who, a.me, a.rest, o.Lookup)
	a.people = people.New(people.Options{Guilds: o.Guilds, Allow: o.Allow, Now: o.Now, App: a.self.application, Logger: o.Logger}, a.rest, a.atlas)
	a.Front = front.New(a, front.Options{Common: o.Common, Platform: Platform, Dialect: layout.CardDialect, Room: tight, Args: dialect.Exact})
	a.gate = gateway.New(gateway.Options{
		Token: o.Token, Shards: o.Shards, Content: a.reads, Notes: o.Inbox, Logger: o.Logger, Observe: o.Observe, Now: o.Now,
		Process: o.Process, Ended: o.Ended, Stagger: o.Stagger, Pause: o.Pause, Told: o.Told, Greet: o.Greet, Beat: o.Beat,
	}, host{a}, a.Heard.Forget)
	return a, nil
}

func (o Options) withDefaults() Options {
	o.Stagger = cmp.Or(o.Stagger, 5*time.Second)
	o.Pause = cmp.Or(o.Pause, time.Second)
	o.Brief = cmp.Or(o.Brief, 15*time.Second)
	o.Defer = cmp.Or(o.Defer, 1500*time.Millisecond)
	o.Lookup = cmp.Or(o.Lookup, 2*time.Second)
	o.Told = cmp.Or(o.Told, 5*time.Second)
	o.Greet = cmp.Or(o.Greet, 40*time.Second)
	o.Beat = cmp.Or(o.Beat, 2*time.Second)
	o.APIURL = cmp.Or(o.APIURL, "https://discord.com/api")
	if o.Ended == nil {
		o.Ended = func(string) bool { return false }
	}
	o.Global = cmp.Or(o.Global, api.Global)
	o.Common = o.Common.WithDefaults()
	return o
}

// Client is how REST is called.
func (o Options) Client() api.Options {
	o = o.withDefaults()
	return api.Options{
		Address: o.APIURL, Token: o.Token, Version: o.Version, Global: o.Global, Pace: o.Pace, HTTP: o.HTTP,
		Outbox: func(budget func(string) outbox.Budget) *outbox.Outbox { return o.Common.Outbox(Platform, budget) },
	}
}

// Run connects and stays connected until ctx is done. It returns an error only
// for what connecting again can't mend, such as a token that Discord refuses or
// an intent that is not switched on. What was missed is looked up at the
// beginning of every new session.
func (a *Adapter) Run(ctx context.Context) error {
	defer a.remarks.end()
	defer a.working.end()
	for least := 0; ; {
		n, err := a.connected(ctx, least)
		if !errors.Is(err, gateway.ErrTooFew) {
			return err
		}
		a.log.Warn("discord wants more shards", "shards", n)
		least = n + 1
	}
}

// connected stays connected with so many shards as Discord recommends, and says
// how many they are. It returns gateway.ErrTooFew when they have become too few, unless
// Discord recommends no more than before.
func (a *Adapter) connected(ctx context.Context, least int) (int, error) {
	info, err := a.signIn(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return 0, nil
		}
		return 0, fmt.Errorf("sign in to Discord: %w", err)
	}
	n := a.o.Shards
	if n < 1 {
		n = max(1, info.Shards)
	}
	if n < least {
		return n, fmt.Errorf("connect to Discord: %d shards are too few, and it recommends no more", n)
	}
	a.Remember(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.rest.Out.Run(ctx) })
	g.Go(func() error { return a.watchToken(ctx) })
	g.Go(func() error { a.Front.Run(ctx); return nil })
	g.Go(func() error { a.openThreads(ctx); return nil })
	if a.o.Commands {
		g.Go(func() error { a.register(ctx); return nil })
	}
	g.Go(func() error { return a.gate.Run(ctx, n, info) })
	err = g.Wait()
	a.lanes.Wait()
	if err == nil {
		a.gate.Close(context.WithoutCancel(ctx))
	}
	_ = a.clicks.Wait() // they return no error
	return n, err
}

// watchToken returns an error once Discord refuses the token: it was reset, and
// nothing goes on with it.
func (a *Adapter) watchToken(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.rest.Refused:
		return errors.New("talk to Discord: the token is refused: copy discord.token again (Developer Portal, Bot, Reset Token)")
	}
}

// Ready says whether events arrive: every shard has a session.
func (a *Adapter) Ready() bool { return a.gate.Ready() }

// Depth says how many calls wait for Discord's rate limits, by priority.
func (a *Adapter) Depth() map[string]int { return a.rest.Out.DepthByName() }

// signIn asks who the bot is and how to connect, until Discord says so or
// refuses the token.
func (a *Adapter) signIn(ctx context.Context) (info gateway.Start, err error) {
	signIn := retry.Policy{First: a.o.Pause, Longest: time.Minute, Final: api.RefusedToken, Failed: func(err error) {
		a.log.Warn("sign in to discord", "error", err)
	}}
	refusals := 0
	err = signIn.Do(ctx, func(ctx context.Context) error {
		if _, err := a.me(ctx); err != nil {
			return err
		}
		if err := a.ownApp(ctx); err != nil {
			if refusals++; !api.Refused(err) || api.RefusedToken(err) || refusals < front.MostTries {
				return err
			}
			a.log.Warn("ask what the application may do", "error", err)
		}
		info, err = host{a}.Start(ctx)
		return err
	})
	if err == nil {
		a.self.do.Do(func() { close(a.self.in) })
	}
	return info, err
}

// signedIn waits for the sign-in: before it nobody can say which servers are served.
func (a *Adapter) signedIn(ctx context.Context) error {
	select {
	case <-a.self.in:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *Adapter) me(ctx context.Context) (api.User, error) {
	if me := a.self.who(); me.ID != "" {
		return me, nil
	}
	me, err := api.Get[api.User](ctx, a.rest, outbox.Approval, "/users/@me")
	if err == nil && me.ID == "" {
		err = errors.New("GET /users/@me: names nobody")
	}
	if err == nil {
		a.self.me.Store(&me)
	}
	return me, err
}

// ownApp asks what the application may do. One that can't be asked for, again and
// again, may do what every one may, and is taken for one that strangers can invite.
func (a *Adapter) ownApp(ctx context.Context) error {
	app, err := api.Get[api.Application](ctx, a.rest, outbox.Approval, "/applications/@me")
	a.self.app.Store(&app)
	return err
}

// application is what is known of the application. Its id is the bot's, unless it
// is very old.
func (i *identity) application() (app api.Application) {
	if known := i.app.Load(); known != nil {
		app = *known
	}
	app.ID = chat.FirstOf(app.ID, i.who().ID)
	return app
}

// follow is the way in which threads are followed.
func (a *Adapter) follow() string {
	switch {
	case a.o.Follow == FollowAuto && a.self.application().Flags&api.MessageContent != 0:
		return front.FollowCallers
	case a.o.Follow == FollowAuto, a.o.Follow == "":
		return front.FollowMentions
	}
	return a.o.Follow
}

// reads says whether the bot gets the text of messages that don't call it.
func (a *Adapter) reads() bool { return a.o.Reads || a.follow() != front.FollowMentions }

// who gives the identity; empty before the sign-in.
func (i *identity) who() (me api.User) {
	if known := i.me.Load(); known != nil {
		me = *known
	}
	return me
}
