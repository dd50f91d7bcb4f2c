package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// letters are outcomes of side effects that could not be committed by whoever
// held the thread: the claim was lost, or the process lets go of its threads.
// They go through the inbox, for which no claim is needed, again and again until
// the store has them.
type letters struct {
	r    *Runner
	mu   sync.Mutex
	open int
	last bool // the process ends: what can't be kept within the grace is lost
	idle Signal
}

// init readies them for a Run. Those of the Run before it are all kept by now, but
// whoever kept the last one may still be on its way out.
func (l *letters) init(r *Runner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.r == nil {
		l.r = r
	}
	l.idle, l.last = r.Host.Signal(), false
}

// send keeps the outcome of a call. The event id is the call's, so that it is
// kept once.
func (l *letters) send(thread chat.ThreadID, result memory.Result) {
	l.put(thread, result, "result/"+result.Call)
}

// put has an entry put until it is.
func (l *letters) put(thread chat.ThreadID, body memory.Body, id string) {
	l.mu.Lock()
	l.open++
	l.mu.Unlock()
	l.r.Host.Go(func() {
		defer func() {
			l.mu.Lock()
			l.open--
			idle := l.idle
			l.mu.Unlock()
			idle.Set()
		}()
		l.deliver(thread, body, id)
	})
}

func (l *letters) deliver(thread chat.ThreadID, body memory.Body, id string) {
	wait, pause := backoff{}, l.r.Host.Signal()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), letterWait)
		_, err := l.r.Store.Put(ctx, thread, body, id)
		cancel()
		if err == nil {
			l.r.health.works(l.r.Log)
			return
		}
		l.mu.Lock()
		last := l.last
		l.mu.Unlock()
		if last || errors.Is(err, memory.ErrFenced) {
			l.r.Log.Error("what came of a call could not be kept", "thread", thread.String(), "kind", body.Kind(), "error", err)
			return
		}
		l.r.health.fails(l.r.Log, err)
		pause.Wait(l.r.Host.Now().Add(min(wait.next(), longPause)))
	}
}

// letterWait bounds one attempt, and letterPatience how long a process that ends
// waits for a store that is away: what it knows, nobody else does.
const (
	letterWait     = 30 * time.Second
	letterPatience = 2 * time.Minute
)

// wait waits until all letters are kept, for so long at the most.
func (l *letters) wait(host Host, most time.Duration) {
	until := host.Now().Add(most)
	for {
		l.mu.Lock()
		open := l.open
		if late := !host.Now().Before(until); late {
			l.last = true
		}
		l.mu.Unlock()
		if open == 0 {
			return
		}
		l.idle.Wait(host.Now().Add(time.Second))
	}
}

// Effects are the side effects that this process runs or ran, of one Runner after
// the other. A call that it knows is never begun again here, whatever a store says
// that lost what it knew; and one of this process' own that it does not know did not
// begin. It is safe for concurrent use by the drivers of one Runner.
type Effects struct {
	mu   sync.Mutex
	of   map[string]*effect
	done []string // the oldest first

	forgot bool // that of some nothing is known any more
}

type effect struct {
	result memory.Result
	over   bool
}

// mostEffects is how many calls are remembered that are over.
const mostEffects = 1000

// NewEffects makes what knows of none yet.
func NewEffects() *Effects { return &Effects{of: map[string]*effect{}} }

// begin says whether a call may run: not when it does, or did.
func (e *Effects) begin(call string) (fresh bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of[call] != nil {
		return false
	}
	e.of[call] = &effect{}
	return true
}

// find gives what came of a call that this process began, or was about to; over is
// false while it runs.
func (e *Effects) find(c memory.Call) (result memory.Result, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch known := e.of[c.ID]; {
	case known == nil:
		return agent.Unbegun(c, !e.forgot), true
	default:
		return known.result, known.over
	}
}

// drop forgets a call that did not begin.
func (e *Effects) drop(call string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, call)
}

func (e *Effects) end(call string, result memory.Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of[call] = &effect{result, true}
	if e.done = append(e.done, call); len(e.done) > mostEffects {
		e.forgot = true
		delete(e.of, e.done[0])
		e.done = e.done[1:]
	}
}
