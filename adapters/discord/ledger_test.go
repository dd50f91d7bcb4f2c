package discord

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/fakediscord"
)

// ledger is an inbox that writes down what it is given, and drops what it
// knows, as a store does.
type ledger struct {
	mu      sync.Mutex
	changed chan struct{}
	known   map[string]bool
	fail    error
	repeats int

	messages  []put
	reactions []chat.Reaction
	edits     map[string]string
	deletions []string
	halts     []chat.ThreadID
	blobs     map[string][]byte

	standing map[chat.ThreadID]chat.Standing
	marks    []chat.Watermark
	pending  []chat.Pending
	steps    map[string]chat.Steps
	slow     chan struct{} // Steps waits for it
}

// put is a message that was put.
type put struct {
	Thread chat.ThreadID
	chat.Message
}

func newLedger() *ledger {
	return &ledger{
		changed: make(chan struct{}), known: map[string]bool{}, edits: map[string]string{}, blobs: map[string][]byte{},
		standing: map[chat.ThreadID]chat.Standing{}, steps: map[string]chat.Steps{},
	}
}

func (l *ledger) put(ids []string, note func()) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		close(l.changed)
		l.changed = make(chan struct{})
	}()
	if l.fail != nil {
		return false, l.fail
	}
	if slices.ContainsFunc(ids, func(id string) bool { return l.known[id] }) {
		l.repeats++
		return false, nil
	}
	for _, id := range ids {
		l.known[id] = true
	}
	note()
	return true, nil
}

func (l *ledger) Message(_ context.Context, t chat.ThreadID, m chat.Message, ids ...string) (bool, error) {
	return l.put(ids, func() {
		l.messages = append(l.messages, put{t, m})
		st := l.standing[t]
		st.Known, st.Last = true, m.Sent
		l.standing[t] = st
		l.marks = slices.DeleteFunc(l.marks, func(w chat.Watermark) bool { return w.Thread == t })
		l.marks = append(l.marks, chat.Watermark{Thread: t, Last: m.Ref, Sent: m.Sent})
	})
}

func (l *ledger) Reaction(_ context.Context, r chat.Reaction, ids ...string) (bool, error) {
	return l.put(ids, func() { l.reactions = append(l.reactions, r) })
}

func (l *ledger) Edited(_ context.Context, ref chat.MessageRef, text string, ids ...string) (bool, error) {
	return l.put(ids, func() { l.edits[ref.String()] = text })
}

func (l *ledger) Deleted(_ context.Context, ref chat.MessageRef, ids ...string) (bool, error) {
	return l.put(ids, func() { l.deletions = append(l.deletions, ref.String()) })
}

func (l *ledger) Halt(_ context.Context, t chat.ThreadID, _ chat.User, ids ...string) (bool, error) {
	return l.put(ids, func() { l.halts = append(l.halts, t) })
}

func (l *ledger) Keep(_ context.Context, _ chat.ThreadID, data []byte) (string, error) {
	name := "b-" + sum(string(data))[:8]
	_, err := l.put(nil, func() { l.blobs[name] = data })
	return name, err
}

func (l *ledger) Standing(_ context.Context, t chat.ThreadID) (chat.Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standing[t], l.fail
}

func (l *ledger) Watermarks(context.Context, string, time.Time) iter.Seq2[chat.Watermark, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return each(slices.Clone(l.marks), l.fail)
}

func (l *ledger) Pending(context.Context, string) iter.Seq2[chat.Pending, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return each(slices.Clone(l.pending), l.fail)
}

func (l *ledger) Steps(_ context.Context, _ chat.ThreadID, turn string) (chat.Steps, bool, error) {
	l.mu.Lock()
	slow := l.slow
	s, ok := l.steps[turn]
	err := l.fail
	l.mu.Unlock()
	if slow != nil {
		<-slow
	}
	return s, ok, err
}

func each[T any](all []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// do changes or reads the ledger.
func (l *ledger) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

const longest = 30 * time.Second

// await waits until the condition holds.
func (l *ledger) await(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.After(longest)
	for {
		l.mu.Lock()
		changed, ok := l.changed, holds()
		l.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("waited in vain; there are %d messages, %d reactions: %v", len(l.messages), len(l.reactions), l.reactions)
		}
	}
}

func (l *ledger) texts() []string {
	var out []string
	l.do(func() {
		for _, m := range l.messages {
			out = append(out, m.Text)
		}
	})
	return out
}

// office is an adapter at work in a fake Discord with one guild.
type office struct {
	t              *testing.T
	fake           *fakediscord.Server
	a              *Adapter
	in             *ledger
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
	o := &office{t: t, fake: fakediscord.Start(t, f), in: newLedger()}
	o.ada, o.bob, o.cleo = o.fake.AddUser("ada", "Ada"), o.fake.AddUser("bob", ""), o.fake.AddUser("cleo", "")
	o.guild = o.fake.AddGuild("works", o.cleo, o.ada, o.bob)
	o.general = o.fake.AddChannel(o.guild, "general")
	return o
}

func (o *office) options() Options {
	return Options{
		Token: o.fake.Token(), APIURL: o.fake.URL(), Inbox: o.in,
		Stagger: time.Millisecond, Pause: 5 * time.Millisecond, Settle: time.Millisecond, Pace: 100,
	}
}

// run starts the adapter, and waits until it is ready.
func (o *office) run(change func(*Options)) {
	o.t.Helper()
	opt := o.options()
	if change != nil {
		change(&opt)
	}
	a, err := New(opt)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	o.a = a
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			o.t.Errorf("Run: %v", err)
		}
		if v := o.fake.Violations(); len(v) > 0 {
			o.t.Errorf("Discord would refuse: %s", strings.Join(v, "; "))
		}
	})
	o.t.Cleanup(o.stop)
	o.ready()
}

// ready waits until every shard has a session, and the adapter knows.
func (o *office) ready() {
	o.t.Helper()
	deadline := time.After(longest)
	for tick := time.NewTicker(time.Millisecond); !o.a.Ready(); {
		select {
		case <-tick.C:
		case <-deadline:
			o.t.Fatalf("it is never ready; calls: %s", o.calls())
		}
	}
}

func (o *office) wait(holds func(*fakediscord.Server) bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), longest)
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
func thread(channel, id string) chat.ThreadID { return threadID(place{channel, id}) }

func direct(channel string) chat.ThreadID { return threadID(place{channel: channel}) }

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
