package discord

import (
	"context"
	"strings"
	"testing"
	"time"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/front"
	"nod/internal/fakediscord"
	"nod/internal/ledger"
)

// office is an adapter at work in a fake Discord with one guild.
type office struct {
	t              *testing.T
	fake           *fakediscord.Server
	a              *Adapter
	in             *ledger.Ledger
	stop           func()
	ada, bob, cleo string
	guild, general string
}

func open(t *testing.T, f fakediscord.Options, change func(*Options)) *office {
	t.Helper()
	o := build(t, f)
	o.run(change)
	return o
}

// build makes the fake, without an adapter.
func build(t *testing.T, f fakediscord.Options) *office {
	t.Helper()
	if f.LimitScale == 0 {
		f.NoLimits = true
	}
	if f.Deadline == 0 { // a busy machine is slower than Discord is patient
		f.Deadline = ledger.Longest
	}
	f.Silence = ledger.Longest
	o := &office{t: t, fake: fakediscord.Start(t, f), in: ledger.New()}
	o.ada, o.bob, o.cleo = o.fake.AddUser("ada", "Ada"), o.fake.AddUser("bob", ""), o.fake.AddUser("cleo", "")
	o.guild = o.fake.AddGuild("works", o.cleo, o.ada, o.bob)
	o.general = o.fake.AddChannel(o.guild, "general")
	return o
}

func (o *office) options() Options {
	return Options{
		Token: o.fake.Token(), APIURL: o.fake.URL(),
		Common:  front.Common{Inbox: o.in, Settle: time.Millisecond, Pace: 100},
		Stagger: time.Millisecond, Pause: 5 * time.Millisecond,
		Greet: ledger.Longest, Defer: ledger.Longest, Lookup: ledger.Longest,
		Told: 50 * time.Millisecond, Beat: 20 * time.Millisecond,
	}
}

// run starts the adapter, and waits until it is ready.
func (o *office) run(change func(*Options)) {
	o.t.Helper()
	o.begin(change)
	o.ready()
}

// begin starts the adapter.
func (o *office) begin(change func(*Options)) {
	o.t.Helper()
	opt := o.options()
	if change != nil {
		change(&opt)
	}
	a, err := New(opt)
	if err != nil {
		o.t.Fatal(err)
	}
	o.a, o.stop = a, ledger.Run(o.t, func(ctx context.Context) error {
		err := a.Run(ctx)
		if v := o.fake.Violations(); len(v) > 0 {
			o.t.Errorf("Discord would refuse: %s", strings.Join(v, "; "))
		}
		return err
	})
}

// ready waits until every shard has a session, and the adapter knows.
func (o *office) ready() {
	o.t.Helper()
	o.until("it is ready", o.a.Ready)
}

// until waits for a state of the adapter, which tells nobody when it changes.
func (o *office) until(what string, holds func() bool) {
	o.t.Helper()
	deadline := time.After(ledger.Longest)
	for tick := time.NewTicker(time.Millisecond); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			o.t.Fatalf("never: %s; calls: %s", what, o.calls())
		}
	}
}

func (o *office) wait(holds func(*fakediscord.Server) bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), ledger.Longest)
	defer cancel()
	if err := o.fake.WaitFor(ctx, holds); err != nil {
		o.t.Fatalf("%v; calls: %s", err, o.calls())
	}
}

func (o *office) calls() string {
	var out []string
	for _, c := range o.fake.Calls("") {
		out = append(out, c.Route)
	}
	return strings.Join(out, ", ")
}

// mention is how the bot is called.
func (o *office) mention() string { return "<@" + o.fake.Bot() + ">" }

// thread is the conversation that a message of a channel begins.
func thread(channel, id string) chat.ThreadID {
	return api.ThreadID(api.Place{Channel: channel, Thread: id})
}

func direct(channel string) chat.ThreadID { return api.ThreadID(api.Place{Channel: channel}) }

func (o *office) post(thread chat.ThreadID, p chat.Post, look bool) chat.MessageRef {
	o.t.Helper()
	ref, err := o.a.Post(o.t.Context(), thread, p, look)
	if err != nil {
		o.t.Fatal(err)
	}
	return ref
}

func answer(key, text string) chat.Post {
	return chat.Post{Key: key, Text: &chat.Text{Markdown: text}}
}
