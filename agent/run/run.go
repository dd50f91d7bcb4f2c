package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/chat/bounded"
	"nod/llm"
	"nod/memory"
)

// Store is the run's part of a store.
type Store interface {
	memory.Store
	memory.Blobs
	memory.Counters
	memory.Notes
	memory.Reader
	memory.Rewriter
}

// Runner drives all threads of the platforms that it serves.
type Runner struct {
	Store     Store
	Agent     *agent.Agent
	Model     llm.Model
	Tools     Toolbox
	Platforms map[string]Platform
	Log       *slog.Logger

	// Observe hears of every entry that this process committed, for metrics.
	// It must not block.
	Observe func(run *memory.Run, e memory.Entry)
	// Lobby lists a person's waiting approvals in other threads; nil: none.
	Lobby Lobby
	// Held lists the incidents of a thread's channel that were held back; nil: none.
	Held func(ctx context.Context, thread chat.ThreadID) ([]memory.Incident, error)
	// Limits are the daily limits of usage.
	Limits Limits
	// Older hears of a thread with a card that shows more than its log: the store came back
	// older. doubted says that the log tells so already. It may block; nil: nobody does.
	Older func(thread chat.ThreadID, doubted bool)
	// Host is the ground that the process stands on; nil is Goroutines.
	Host Host
	// Grace is how long running posts may take once the context is done. Running side
	// effects have their own limits.
	Grace time.Duration
	// Effects knows the side effects of this process; nil: its first Runner is this
	// one.
	Effects *Effects
	// Most limits the held threads, those that wait for a model included.
	Most int
	// ReadAgain is the longest log that each claim reads from the start. A longer one
	// is kept in its read form, as long as the store remembers it.
	ReadAgain int

	next    func(*agent.Log) do.Action      // in place of the Agent's Next; nil: that one
	proofs  bounded.Map[string, bool]       // of cards, see [driver.prove]
	reached bounded.Map[string, bool]       // limits that the log has told of, by counter
	retries bounded.Map[chat.ThreadID, int] // how often in a row driving a thread ended with an error
	outages bounded.Map[string, outage]     // by model
	health  health
	letters letters
	drains  *atomic.Bool // the present Run does
	mu      sync.Mutex
	drivers map[*driver]bool
	asking  *questions // of the present Run
	free    Signal
	acting  *group // side effects, until their outcome is handed on
	beside  *group // works beside the drivers; a drain does not wait long for them
}

// Defaults of Runner.
const (
	DefaultGrace = 20 * time.Second
	DefaultMost  = 10_000

	DefaultReadAgain = 100
)

// Run claims and drives threads until ctx is done. Then it begins nothing more, ends
// model calls, and releases the threads. It waits for running side effects, each up to
// its own limit, until their outcomes are stored.
func (r *Runner) Run(ctx context.Context) error {
	r.defaults()
	r.reportUnshown()
	defer r.Host.After(ctx, r.drain())()
	driving := newGroup(r.Host)
	wait := backoff{}
	for ctx.Err() == nil {
		r.room()
		if r.drains.Load() {
			break
		}
		claimed, err := r.Store.Next(ctx, r.names()...)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, memory.ErrFenced) {
				break
			}
			r.health.fails(r.Log, err)
			r.pause(min(wait.next(), longPause))
			continue
		}
		r.health.works(r.Log)
		wait = backoff{}
		d := r.drive(claimed)
		driving.Go(d.run)
	}
	driving.Wait()
	r.acting.Wait()
	r.letters.wait(max(r.Grace, letterPatience))
	r.beside.waitUntil(r.Host.Now().Add(r.Grace))
	return nil
}

// reportUnshown logs places of cards that no platform has.
func (r *Runner) reportUnshown() {
	var direct bool
	channels := map[string]bool{}
	for _, t := range r.Agent.Tools {
		direct = direct || t.Rules.Direct
		for _, id := range t.Rules.Channels {
			channels[id] = true
		}
	}
	for _, p := range r.Platforms {
		able := p.Able()
		direct = direct && !able.Elsewhere
		maps.DeleteFunc(channels, func(id string, _ bool) bool { return able.Channel != nil && able.Channel(id) })
	}
	if direct || len(channels) > 0 {
		r.Log.Error("approvals.notify names places that no platform here has; cards stand in their thread alone",
			"channels", slices.Sorted(maps.Keys(channels)), "dm", direct)
	}
}

func (r *Runner) defaults() {
	if r.Grace <= 0 {
		r.Grace = DefaultGrace
	}
	if r.Most <= 0 {
		r.Most = DefaultMost
	}
	if r.ReadAgain <= 0 {
		r.ReadAgain = DefaultReadAgain
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Host == nil {
		r.Host = Goroutines{}
	}
	if r.Observe == nil {
		r.Observe = func(*memory.Run, memory.Entry) {}
	}
	r.drains, r.asking = &atomic.Bool{}, &questions{}
	r.mu.Lock()
	r.drivers = map[*driver]bool{}
	r.mu.Unlock()
	r.free = r.Host.Signal()
	if r.Effects == nil {
		r.Effects = NewEffects()
	}
	r.letters.init(r)
	r.acting, r.beside = newGroup(r.Host), newGroup(r.Host)
}

func (r *Runner) names() []string {
	out := make([]string, 0, len(r.Platforms))
	for name := range r.Platforms {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// drain returns a function that makes every driver release its thread. It ends its own
// Run and no other: a context may be noticed late, when an ended Runner has begun
// again.
func (r *Runner) drain() func() {
	drains, free, asking := r.drains, r.free, r.asking
	return func() {
		drains.Store(true)
		r.mu.Lock()
		defer r.mu.Unlock()
		for d := range r.drivers {
			d.wake.Set()
		}
		asking.drain()
		free.Set()
	}
}

// room waits until another thread may be held.
func (r *Runner) room() {
	for {
		r.mu.Lock()
		full := len(r.drivers) >= r.Most
		r.mu.Unlock()
		if !full || r.drains.Load() {
			return
		}
		r.free.Wait(time.Time{})
	}
}

// drive makes the driver of a claimed thread.
func (r *Runner) drive(claimed *memory.Run) *driver {
	ctx, cancel := context.WithCancel(context.Background())
	d := &driver{
		Runner: r, Agent: r.Agent.In(r.Limits.Place(claimed.Thread)), held: claimed, thread: claimed.Thread, platform: r.Platforms[claimed.Thread.Platform],
		questions: r.asking, ctx: ctx, cancel: cancel, wake: r.Host.Signal(), works: map[string]*work{}, recovered: map[effectID]bool{}, at: r.Host.Now(),
	}
	r.mu.Lock()
	r.drivers[d] = true
	r.mu.Unlock()
	return d
}

// done forgets a driver that let go of its thread.
func (r *Runner) done(d *driver) {
	r.mu.Lock()
	delete(r.drivers, d)
	r.mu.Unlock()
	r.free.Set()
}

// pause waits, but not once the process drains.
func (r *Runner) pause(how time.Duration) {
	if !r.drains.Load() {
		r.free.Wait(r.Host.Now().Add(how))
	}
}

// sleep waits, but not once ctx is done.
func (r *Runner) sleep(ctx context.Context, how time.Duration) {
	s := r.Host.Signal()
	defer r.Host.After(ctx, s.Set)()
	s.Wait(r.Host.Now().Add(how))
}

// safely makes a panic of f an error, so that it is one failed action and
// nothing else.
func (r *Runner) safely(thread chat.ThreadID, what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("panic", "what", what, "thread", thread.String(), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: %w", what, errPanic)
		}
	}()
	return f()
}

var errPanic = errors.New("there is a mistake in the program")

// backoff waits longer each time.
type backoff struct{ last time.Duration }

const (
	firstPause = 100 * time.Millisecond
	longPause  = 5 * time.Second // between unlimited retries
	mostPause  = time.Minute
)

func (b *backoff) next() time.Duration {
	b.last = min(mostPause, max(firstPause, 2*b.last))
	return b.last
}
