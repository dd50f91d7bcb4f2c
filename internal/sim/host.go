package sim

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"nod/agent/run"
)

// process is one nod: the ground ([run.Host]) of a real Runner. Its goroutines are
// routines; one routine in the whole world runs at a time, until it waits.
type process struct {
	l            *loop
	name         string
	dead, paused bool
	held         []task // what came up while it was paused
	routines     []*routine
	waits        []*routine // for something that a context ends
	afters       []*after
	fuse         int              // it dies in so many calls; 0: it does not
	blow         func()           // what the fuse does
	failed       func(why string) // hears of a panic that nobody recovered
}

// routine is a goroutine that runs only while the loop lets it.
type routine struct {
	p     *process
	next  func() (struct{}, bool)
	yield func(struct{}) bool
	wait  uint64 // counts its waits, so that a late wake-up ends no other one
	waits bool
	ctx   context.Context
}

type after struct {
	ctx context.Context
	f   func()
}

var _ run.Host = (*process)(nil)

// Now implements run.Host.
func (p *process) Now() time.Time { return p.l.now() }

// Go implements run.Host.
func (p *process) Go(f func()) {
	if p.dead {
		return
	}
	r := &routine{p: p}
	p.routines = append(p.routines, r)
	r.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		if p.dead {
			return
		}
		r.yield = yield
		defer func() {
			p.routines = slices.DeleteFunc(p.routines, func(o *routine) bool { return o == r })
			if v := recover(); v != nil {
				p.failed(fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
			}
		}()
		f()
	})
	p.l.soon(p, func() { p.resume(r) })
}

// resume lets a routine run until it waits. Contexts end only in routines of
// their own process, and so this is the time to see what they end.
func (p *process) resume(r *routine) {
	p.l.cur = r
	r.next()
	p.l.cur = nil
	if !p.dead {
		p.poll()
	}
}

// poll wakes what waited for contexts that are done by now.
func (p *process) poll() {
	keep := p.waits[:0]
	for _, r := range p.waits {
		switch {
		case !r.waits:
		case r.ctx.Err() != nil:
			p.wake(r, r.wait)
		default:
			keep = append(keep, r)
		}
	}
	clear(p.waits[len(keep):])
	p.waits = keep
	var over []*after
	p.afters = slices.DeleteFunc(p.afters, func(a *after) bool {
		done := a.ctx.Err() != nil
		if done {
			over = append(over, a)
		}
		return done
	})
	for _, a := range over {
		p.Go(a.f)
	}
}

// wake ends a wait, unless it is over.
func (p *process) wake(r *routine, wait uint64) {
	if r.waits && r.wait == wait {
		r.waits = false
		p.l.soon(p, func() { p.resume(r) })
	}
}

// await has the running routine wait until wake is called or ctx is done. In a process that died it never returns.
func (p *process) await(ctx context.Context, begin func(wake func())) {
	if p.dead {
		runtime.Goexit()
	}
	r := p.l.cur
	if r == nil || r.p != p {
		panic("sim: a wait outside of a routine of its process")
	}
	r.wait++
	wait := r.wait
	r.waits, r.ctx = true, ctx
	begin(func() { p.wake(r, wait) })
	if ctx.Done() != nil && r.waits {
		p.waits = append(p.waits, r)
	}
	r.yield(struct{}{})
	if p.dead {
		runtime.Goexit()
	}
}

// sleep waits for d; the error is ctx's when it is done before.
func (p *process) sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() == nil {
		p.await(ctx, func(wake func()) { p.l.after(d, p, wake) })
	}
	return ctx.Err()
}

// kill ends the process as kill -9 does: none of its routines goes on. They are unwound
// to free their memory, but their last calls have no effect.
func (p *process) kill() {
	if p.dead {
		return
	}
	p.dead = true
	all := slices.Clone(p.routines)
	for _, r := range all {
		done := make(chan struct{})
		go func() { // Goexit ends who resumes, too
			defer close(done)
			p.l.cur = r
			r.next()
		}()
		<-done
	}
	p.l.cur = nil
	p.waits, p.afters, p.held, p.routines = nil, nil, nil, nil
}

// pause is SIGSTOP, until cont, SIGCONT.
func (p *process) pause() { p.paused = true }

func (p *process) cont() {
	p.paused = false
	p.l.due = append(p.l.due, p.held...)
	p.held = nil
}

// After implements run.Host.
func (p *process) After(ctx context.Context, f func()) func() bool {
	if p.dead {
		return func() bool { return false }
	}
	a := &after{ctx, f}
	p.afters = append(p.afters, a)
	return func() bool {
		i := slices.Index(p.afters, a)
		if i >= 0 {
			p.afters = slices.Delete(p.afters, i, i+1)
		}
		return i >= 0
	}
}

// Signal implements run.Host.
func (p *process) Signal() run.Signal { return &signal{p: p} }

type signal struct {
	p    *process
	set  bool
	wake func()
}

// Set implements run.Signal.
func (s *signal) Set() {
	if s.p.dead {
		return
	}
	if s.wake == nil {
		s.set = true
		return
	}
	s.wake()
	s.wake = nil
}

// Wait implements run.Signal.
func (s *signal) Wait(until time.Time) {
	if s.p.dead {
		runtime.Goexit()
	}
	if s.set {
		s.set = false
		return
	}
	if s.wake != nil {
		panic("sim: two wait for one signal")
	}
	s.p.await(background, func(wake func()) {
		s.wake = wake
		if !until.IsZero() {
			s.p.l.at(until, s.p, wake)
		}
	})
	s.wake = nil
}
