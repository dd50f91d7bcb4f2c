package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/memory"
)

// errDrained says that the process is shutting down.
var errDrained = errors.New("draining")

// driver drives one thread while it is held. It asks for the next action, begins it as
// a work beside, and commits outcomes and inbox entries. Its own goroutine does nothing
// slow. Only the store's word ends a side effect's way into the log.
type driver struct {
	*Runner
	Agent    *agent.Agent // of the thread's channel
	held     *memory.Run
	thread   chat.ThreadID
	platform Platform
	log      *agent.Log // the same thread, as decisions see it
	at       time.Time  // the host's clock at the claim
	ctx      context.Context
	cancel   context.CancelFunc // ends works that are useless after the release
	wake     Signal
	// questions are those of its Run; the calls that it began belong to them.
	questions *questions

	decided do.Action        // Next's answer for the present log; nil: ask again
	records int              // in a row, with no other action between
	works   map[string]*work // under way, by key
	// recovered are calls whose outcome this process still had in memory.
	recovered map[effectID]bool
	pending   []memory.Body // go with the next commit
	mail      bool          // something arrived that no commit fetched
	steps     stepsPost
	growth    *growth     // of the model call that runs
	grown     []chat.Post // growing posts that are shown
	shown     chat.Work   // the sign of work
	busy      atomic.Bool // a turn runs: for drivers of other threads
	until     time.Time   // by the store's clock: when something is due
	drains    time.Time   // since when the process shuts down, by the host's clock

	missedWake bool // it may have been woken while it waited for the store alone
	released   bool // the thread was let go

	failing atomic.Int32 // posts that pause after an attempt that failed

	mu   sync.Mutex
	box  []outcome
	over bool
}

// run drives the thread until it waits or is lost, or the process drains.
func (d *driver) run() {
	defer d.Runner.done(d)
	defer d.leave()
	d.held.Bell.Listen(d.wake.Set)
	err := d.safely(d.thread, "drive a thread", d.drive)
	d.grew(d.growth, false)
	if err != nil { // else it was said before the thread was let go, and another driver may be at work by now
		d.show(chat.Work{})
	}
	switch {
	case err == nil:
		d.retries.Take(d.thread)
	case errors.Is(err, memory.ErrFenced):
		d.Log.Warn("lost a thread", "thread", d.thread.String(), "error", err)
	case errors.Is(err, errDrained):
		d.handOff()
	default:
		d.fails(err)
	}
}

// leave closes the box. From now on outcomes of side effects go by letter.
func (d *driver) leave() {
	d.held.Bell.Listen(nil)
	d.cancel()
	d.mu.Lock()
	rest := d.box
	d.box, d.over = nil, true
	d.mu.Unlock()
	for _, o := range rest {
		o.post(d)
	}
}

// drive begins one action after the other until the thread is let go.
func (d *driver) drive() error {
	d.log = d.read()
	d.showWork()
	d.questions.hear(d.log)
	for !d.released {
		if err := d.take(); err != nil || d.released {
			return err
		}
		if d.draining() {
			if !d.posting() {
				return errDrained
			}
			d.wake.Wait(d.drains.Add(d.Grace))
			continue
		}
		if err := d.inquire(); err != nil {
			return err
		}
		d.interrupt()
		act := d.decide()
		d.showSteps(act)
		d.besides()
		begun, err := d.perform(act)
		if err != nil {
			return err
		}
		if begun {
			continue
		}
		if err := d.rest(act); err != nil {
			return err
		}
	}
	return nil
}

// read reads the log; of a long one only the part that is new to this process.
func (d *driver) read() *agent.Log {
	log, ok := d.held.Kept.(*agent.Log)
	d.held.Kept = nil
	if ok && log.Resume(d.held.Log, d.claim()) {
		return log
	}
	return agent.NewLog(d.held.Log, d.claim())
}

func (d *driver) claim() agent.Claim {
	c := agent.Claim{Since: d.held.Claimed, Token: memory.Short(d.held.Token), Self: d.Store.Self(), Now: d.held.Now, Direct: d.platform.Direct(d.thread)}
	if d.platform.Able().Reads {
		c.Proven = d.proven
	}
	return c
}

// decide asks for the next action. It is a function of the log, so it is asked once for
// each: asking again for a model call would write its whole prompt again.
func (d *driver) decide() do.Action {
	if d.decided == nil {
		next := d.Agent.Next
		if d.next != nil {
			next = d.next
		}
		d.decided = next(d.log)
	}
	return d.decided
}

// take commits outcomes of works, and inbox entries.
func (d *driver) take() error {
	mail, lost := d.held.Bell.Take()
	if lost {
		return memory.ErrFenced
	}
	d.mail = d.mail || mail
	d.mu.Lock()
	box := d.box
	d.box = nil
	d.mu.Unlock()
	for i, o := range box {
		delete(d.works, o.key)
		if o.key != stepsWork { // it may have to be begun again, and nothing says that an action can be performed twice
			d.decided = nil
		}
		if o.cut {
			continue
		}
		if err := o.settle(); err != nil {
			d.mu.Lock()
			d.box = append(box[i:], d.box...)
			d.mu.Unlock()
			return err
		}
	}
	switch {
	case d.released:
	case !d.until.IsZero() && !d.now().Before(d.until):
		d.until = time.Time{}
		return d.commit(memory.Due{})
	case d.mail:
		return d.commit()
	}
	return nil
}

// now is the store's clock, as far as it can be told from here.
func (d *driver) now() time.Time {
	if d.held.Now.IsZero() {
		return d.Host.Now()
	}
	return d.held.Now.Add(d.Host.Now().Sub(d.at))
}

// draining says whether the process shuts down, and notes since when.
func (d *driver) draining() bool {
	if d.Runner.drains.Load() && d.drains.IsZero() {
		d.drains = d.Host.Now()
	}
	return !d.drains.IsZero()
}

// posting says whether a post is under way that is worth waiting for: not one that
// failed, since the platform may be away for long, and the next process looks for
// it before it posts it anyway.
func (d *driver) posting() bool {
	if !d.Host.Now().Before(d.drains.Add(d.Grace)) {
		return false
	}
	under := -int(d.failing.Load())
	for _, w := range d.works {
		if w.kind == posts {
			under++
		}
	}
	return under > 0
}

// inquire finds out whether calls of this process still run. The process knows the
// outcomes of its own calls, also if the store lost them.
func (d *driver) inquire() error {
	for _, call := range d.log.Own() {
		id := d.effectID(call)
		if came, over := d.Effects.find(id, call); over {
			d.recovered[id] = true
			return d.commit(came)
		}
	}
	for _, other := range d.log.Others() {
		var silent time.Duration
		err := d.insist(func() (err error) {
			silent, err = d.Store.Silent(background, d.thread, other)
			return err
		})
		if err != nil {
			return err
		}
		d.log.Heard(other, silent)
		d.decided = nil
	}
	return nil
}

// interrupt ends works that a word to stop makes useless.
func (d *driver) interrupt() {
	if len(d.works) == 0 || !d.Agent.Interrupted(d.log) {
		return
	}
	d.grew(d.growth, false)
	for _, w := range d.works {
		if w.kind == asks {
			w.cancel()
		}
	}
}

// rest waits until something happens, or lets the thread go when nothing is under
// way.
func (d *driver) rest(act do.Action) error {
	if len(d.pending) > 0 {
		return d.commit()
	}
	w, waits := act.(do.Wait)
	if waits && len(d.works) == 0 {
		d.drawSteps(true)
		if len(d.held.Log) > d.ReadAgain {
			d.held.Kept = d.log
		}
		return d.write(&w)
	}
	d.until = w.Until
	if q := d.log.Thread.AsksNow(); q != nil {
		if _, reads := act.(do.Run); reads {
			d.until = q.Deadline()
		}
	}
	if d.missedWake {
		d.missedWake = false
		return nil
	}
	d.wake.Wait(d.earliest())
	return nil
}

// earliest is when there is something to do, by the host's clock, although nothing
// happens.
func (d *driver) earliest() time.Time {
	until := d.until
	if !until.IsZero() {
		until = d.Host.Now().Add(until.Sub(d.now()))
	}
	return soonest(until, d.steps.next(d.pace()), d.growsAt(), d.marksAt())
}

// soonest is the first of times; zero ones are never.
func soonest(times ...time.Time) (at time.Time) {
	for _, t := range times {
		if at.IsZero() || !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

// letterLate is how often a thread is checked that waits for a letter.
const letterLate = time.Minute

// lookAt is when a released thread is checked again: at its deadline, or soon if one of
// its calls still runs in this process for another driver. That call's outcome comes by
// letter, and a store that came back older may have lost it.
func (d *driver) lookAt(until time.Time) time.Time {
	if len(d.log.Own()) == 0 {
		return until
	}
	return soonest(d.now().Add(letterLate), until)
}

// background is the context of the store's work for a thread: the store alone bounds
// it, since half a word from it would be worse than a late one.
var background = context.Background()

// commit appends pending entries to the log, and bodies behind them. If nothing is left
// to do then, the same transaction releases the thread.
func (d *driver) commit(bodies ...memory.Body) error {
	return d.write(d.last(bodies), bodies...)
}

// last says how long to wait once the bodies end a turn; nil if more is to do. It does
// not read a long log again.
func (d *driver) last(bodies []memory.Body) *do.Wait {
	if d.mail || len(d.works) > 0 || len(d.held.Log) > d.ReadAgain || !slices.ContainsFunc(bodies, ends) {
		return nil
	}
	log := agent.NewLog(d.held.Log, d.claim())
	for _, b := range append(d.pending, bodies...) {
		log.Append(memory.Entry{Seq: log.Thread.Last + 1, At: d.now(), Body: b})
	}
	if w, ok := d.Agent.Next(log).(do.Wait); ok && len(d.Agent.Beside(log)) == 0 {
		return &w
	}
	return nil
}

func ends(b memory.Body) bool { _, ok := b.(memory.Ended); return ok }

// write commits, and tells the people concerned. With rest it releases the thread,
// unless something arrived.
func (d *driver) write(rest *do.Wait, bodies ...memory.Body) error {
	bodies = append(d.pending, bodies...)
	from := len(d.held.Log)
	if rest != nil {
		d.show(d.parked(slices.ContainsFunc(bodies, ends)))
	}
	err := d.insist(func() (err error) {
		if rest == nil {
			_, err = d.Store.Commit(background, d.held, bodies...)
			return err
		}
		more, err := d.Store.Finish(background, d.held, d.lookAt(rest.Until), bodies...)
		d.released = err == nil && !more
		return err
	})
	kept := d.held.Kept != nil
	d.held.Kept = nil
	if err != nil {
		return err
	}
	d.unschedule(bodies)
	own := d.held.Log[from : from+len(bodies)]
	if !d.released || !kept { // otherwise the next claimer may have it by now
		d.log.Append(d.held.Log[from:]...)
		d.questions.hear(d.log)
	}
	d.pending, d.mail, d.decided = nil, false, nil
	if rest != nil && !d.released {
		d.showWork()
	}
	for _, e := range own {
		d.Observe(d.held, e)
	}
	for _, line := range memory.EffectsOf(d.thread, own).Audit {
		d.Log.Info("audit", "audit", line)
	}
	return nil
}

// mostTries is how often a store may refuse one write, and take others, before the
// write is given up.
const mostTries = 5

// insist repeats a write until the store takes it, the thread is lost, or a drain has
// used up the grace.
func (d *driver) insist(do func() error) error { return d.persist(mostTries, do) }

// persist does so too, and gives the write up once the store refused it so often, and took
// others; 0 is never.
func (d *driver) persist(most int, do func() error) error {
	wait, alone := backoff{}, 0
	for {
		err := do()
		if err == nil {
			d.health.works(d.Log)
			return nil
		}
		if errors.Is(err, memory.ErrFenced) {
			return err
		}
		if d.Store.Ping(background) == nil {
			if alone++; alone == most {
				return err
			}
		}
		d.health.fails(d.Log, err)
		if d.draining() && !d.Host.Now().Before(d.drains.Add(d.Grace)) {
			return errDrained
		}
		d.wake.Wait(d.Host.Now().Add(min(wait.next(), longPause)))
		d.missedWake = true
		if d.held.Bell.Lost() {
			return memory.ErrFenced
		}
	}
}

// mostFailures is how often driving a thread may fail before the thread is told.
const mostFailures = 5

// fails releases the thread after an error, to be driven again after a pause. An error
// that repeats ends the turn with a word.
func (d *driver) fails(err error) {
	n, _ := d.retries.Get(d.thread)
	n++
	d.retries.Put(d.thread, n)
	pause := min(mostPause, firstPause<<min(n, 16))
	d.Log.Error("drive a thread", "thread", d.thread.String(), "error", err, "again_in", pause.String())
	if n >= mostFailures && d.log != nil {
		err := d.safely(d.thread, "give a turn up", func() error {
			bodies := d.Agent.GiveUp(d.log)
			if len(bodies) == 0 {
				return nil
			}
			d.retries.Take(d.thread)
			pause = firstPause
			return d.commit(bodies...)
		})
		if err != nil {
			d.Log.Error("give a turn up", "thread", d.thread.String(), "error", err)
		}
	}
	d.giveBack(pause)
}

// giveBack releases the thread, to be driven again after a pause. A held thread without
// a driver would stand still for ever. So giveBack tries until it is done, or the
// process ends, which ends the claim.
func (d *driver) giveBack(pause time.Duration) {
	var more bool
	err := d.persist(0, func() (err error) {
		more, err = d.Store.Finish(background, d.held, d.now().Add(pause))
		return err
	})
	if err == nil && more {
		d.sleep(d.ctx, pause)
		err = d.persist(0, func() error { return d.Store.Handoff(background, d.held) })
	}
	if errors.Is(err, errDrained) { // else nobody would get it as long as the store is open
		err = d.Store.Handoff(background, d.held)
	}
	if err != nil && !errors.Is(err, memory.ErrFenced) {
		d.Log.Warn("give a thread back", "thread", d.thread.String(), "error", err)
	}
}

func (d *driver) handOff() {
	if len(d.pending) > 0 {
		if err := d.commit(); err != nil {
			d.Log.Warn("note what was done last", "thread", d.thread.String(), "error", err)
		}
	}
	if err := d.Store.Handoff(background, d.held); err != nil && !errors.Is(err, memory.ErrFenced) {
		d.Log.Warn("hand a thread on", "thread", d.thread.String(), "error", err)
	}
}
