package run

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"nod/agent"
	"nod/llm"
	"nod/memory"
)

// Store is what the run needs of a store.
type Store interface {
	memory.Store
	memory.Blobs
	memory.Counters
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
	// Limits are what may be used up.
	Limits Limits
	// Now is the clock by which a day begins; nil is time.Now.
	Now func() time.Time
	// Grace is how long a step may go on after the context is done.
	Grace time.Duration
	// Most is how many threads are worked on at once.
	Most int

	retries retries
}

// Defaults of Runner.
const (
	DefaultGrace = 20 * time.Second
	DefaultMost  = 256
)

// Run claims and drives threads until ctx is done, then lets the steps that
// run finish within the grace and hands their threads on.
func (r *Runner) Run(ctx context.Context) error {
	r.defaults()
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(r.Grace, cancel) })
	defer stop()

	var running sync.WaitGroup
	defer running.Wait()
	free := make(chan struct{}, r.Most)
	wait := backoff{}
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		claimed, err := r.Store.Next(ctx, r.names()...)
		if err != nil {
			<-free
			if ctx.Err() != nil || errors.Is(err, memory.ErrFenced) {
				return nil
			}
			r.Log.Error("claim a thread", "error", err)
			wait.pause(ctx)
			continue
		}
		wait = backoff{}
		running.Go(func() {
			defer func() { <-free }()
			r.handle(ctx, work, claimed)
		})
	}
}

func (r *Runner) defaults() {
	if r.Grace <= 0 {
		r.Grace = DefaultGrace
	}
	if r.Most <= 0 {
		r.Most = DefaultMost
	}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Now == nil {
		r.Now = time.Now
	}
	if r.Observe == nil {
		r.Observe = func(*memory.Run, memory.Entry) {}
	}
}

func (r *Runner) names() []string {
	out := make([]string, 0, len(r.Platforms))
	for name := range r.Platforms {
		out = append(out, name)
	}
	return out
}

// handle drives one claimed thread until it waits, is done, or has to be given
// up. ctx ends when the process drains, work when the grace is over.
func (r *Runner) handle(ctx, work context.Context, claimed *memory.Run) {
	d := &driver{Runner: r, run: claimed, log: agent.NewLog(claimed.Log, claimed.Claimed), platform: r.Platforms[claimed.Thread.Platform], ctx: ctx}
	work, cancel := context.WithCancel(work)
	defer cancel()
	go func() {
		select {
		case <-claimed.Lost:
			cancel()
		case <-work.Done():
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("panic in a turn", "thread", claimed.Thread.String(), "panic", p, "stack", string(debug.Stack()))
			d.giveBack(time.Minute)
		}
	}()
	d.platform.Working(claimed.Thread, true)
	err := d.drive(work)
	switch {
	case err == nil:
		r.retries.clear(claimed.Thread)
	case errors.Is(err, errDrained):
		d.handOff()
	case errors.Is(err, memory.ErrFenced) || work.Err() != nil:
		d.platform.Working(claimed.Thread, false)
		d.handOff()
		r.Log.Warn("lost a thread", "thread", claimed.Thread.String(), "error", err)
	default:
		pause := r.retries.next(claimed.Thread)
		r.Log.Error("drive a thread", "thread", claimed.Thread.String(), "error", err, "again_in", pause.String())
		d.giveBack(pause)
	}
}

// backoff waits longer each time.
type backoff struct{ last time.Duration }

const (
	firstPause = 100 * time.Millisecond
	mostPause  = time.Minute
)

func (b *backoff) next() time.Duration {
	b.last = min(mostPause, max(firstPause, 2*b.last))
	return b.last
}

func (b *backoff) pause(ctx context.Context) {
	select {
	case <-time.After(min(b.next(), 5*time.Second)):
	case <-ctx.Done():
	}
}
