package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/chat"
	"nod/memory"
)

// letters are outcomes of side effects that the thread's holder could not commit: the
// claim was lost, or the process released its threads. They go through the inbox, which
// needs no claim, again and again until the store has them.
type letters struct {
	r    *Runner
	open *group
	last atomic.Bool // the process ends: letters not stored within the grace are lost
}

// init readies them for a Run. The letters of the Run before are all stored by now, but
// their goroutines may still be on the way out.
func (l *letters) init(r *Runner) {
	if l.r == nil {
		l.r, l.open = r, newGroup(r.Host)
	}
	l.last.Store(false)
}

// send keeps the outcome of a call, a result or a handle. The event id is the call's, so
// that it is kept once.
func (l *letters) send(thread chat.ThreadID, came memory.Body) {
	switch b := came.(type) {
	case memory.Result:
		l.put(thread, b, "result/"+b.Call)
	case memory.Held:
		l.put(thread, b, "held/"+b.Call+"/"+memory.Short(b.Handle.Key))
	}
}

// put has an entry put until it is.
func (l *letters) put(thread chat.ThreadID, body memory.Body, id string) {
	l.open.Go(func() { l.deliver(thread, body, id) })
}

// disown tells of a call that this process did not begin that it did not, where the
// log says that it began it: the commit that failed was done all the same. Whoever
// holds the thread here finds that out for itself; it is another process that would
// wait for as long as this one lives.
func (l *letters) disown(id effectID, c memory.Call, by string) {
	l.open.Go(func() {
		wait, pause := backoff{}, l.r.Host.Signal()
		for next := disownAfter; ; next = min(wait.next(), longPause) {
			if pause.Wait(l.r.Host.Now().Add(next)); l.last.Load() {
				return // the next process finds that this one is gone
			}
			ctx, cancel := context.WithTimeout(context.Background(), letterWait)
			log, err := l.r.Store.Read(ctx, id.thread)
			cancel()
			if err != nil {
				continue
			}
			begun := agent.NewLog(log, agent.Claim{Self: by}).Own()
			if slices.ContainsFunc(begun, func(own memory.Call) bool { return own.ID == c.ID }) {
				if result, ok := l.r.Effects.disown(id, c); ok {
					l.deliver(id.thread, result, "result/"+c.ID)
				}
			}
			return
		}
	})
}

// disownAfter is how long the holder of a thread has to find out for itself.
const disownAfter = 5 * time.Second

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
		if l.last.Load() || errors.Is(err, memory.ErrFenced) {
			l.r.Log.Error("what came of a call could not be kept", "thread", thread.String(), "kind", body.Kind(), "error", err)
			return
		}
		l.r.health.fails(l.r.Log, err)
		pause.Wait(l.r.Host.Now().Add(min(wait.next(), longPause)))
	}
}

// letterWait bounds one attempt. letterPatience is how long an ending process waits for
// an absent store: nobody else knows these outcomes.
const (
	letterWait     = 30 * time.Second
	letterPatience = 2 * time.Minute
)

// wait waits until all letters are kept. Those that are not after so long get one more attempt.
func (l *letters) wait(most time.Duration) {
	if !l.open.waitUntil(l.r.Host.Now().Add(most)) {
		l.last.Store(true)
		l.open.Wait()
	}
}

// Effects are the side effects that this process runs or ran, over all its Runners. A
// known call never begins again here, even if the store lost it. A call with this
// process's name that is unknown here did not begin. It is safe for concurrent use by
// the drivers of one Runner.
type Effects struct {
	mu   sync.Mutex
	of   map[effectID]*effect
	done []effectID // the oldest first

	forgot bool // that of some nothing is known any more
}

type effect struct {
	came memory.Body // a result or a handle
	over bool
}

// effectID names a call: its id alone is one of its thread, and that of another
// thread may be the same, as in a store of the first version. A call that goes on after a
// handle is another effect.
type effectID struct {
	thread chat.ThreadID
	call   string
	phase  int
}

// mostEffects is how many calls are remembered that are over.
const mostEffects = 1000

// NewEffects makes an empty set.
func NewEffects() *Effects { return &Effects{of: map[effectID]*effect{}} }

// begin says whether a call may run: not when it does, or did.
func (e *Effects) begin(call effectID) (fresh bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of[call] != nil {
		return false
	}
	e.of[call] = &effect{}
	return true
}

// find gives the outcome of a call that this process began, or was about to; over is
// false while it runs.
func (e *Effects) find(id effectID, c memory.Call) (came memory.Body, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch known := e.of[id]; {
	case known == nil:
		return approval.Unbegun(c, !e.forgot), true
	default:
		return known.came, known.over
	}
}

// disown gives the outcome of a call that is not known here, which then does not run
// here any more; ok is false when it does or did.
func (e *Effects) disown(id effectID, c memory.Call) (result memory.Result, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of[id] != nil {
		return memory.Result{}, false
	}
	result = approval.Unbegun(c, !e.forgot)
	e.keep(id, result)
	return result, true
}

// drop forgets a call that did not begin.
func (e *Effects) drop(call effectID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, call)
}

func (e *Effects) end(call effectID, came memory.Body) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keep(call, came)
}

func (e *Effects) keep(call effectID, came memory.Body) {
	e.of[call] = &effect{came, true}
	if e.done = append(e.done, call); len(e.done) > mostEffects {
		e.forgot = true
		delete(e.of, e.done[0])
		e.done = e.done[1:]
	}
}
