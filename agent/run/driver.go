package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/memory"
)

// errDrained says that the process is shutting down, between two actions.
var errDrained = errors.New("draining")

// driver drives one claimed thread.
type driver struct {
	*Runner
	run      *memory.Run
	log      *agent.Log // the same thread, as decisions see it
	platform Platform
	ctx      context.Context // of the process: done means that no new action begins
	steps    stepsPost
}

// drive performs one action after the other until the thread is let go.
func (d *driver) drive(work context.Context) error {
	defer d.steps.abandon()
	for {
		if d.ctx.Err() != nil {
			return errDrained
		}
		d.showSteps(work)
		act := d.Agent.Next(d.log)
		if w, ok := act.(agent.Wait); ok {
			done, err := d.wait(work, w)
			if done || err != nil {
				return err
			}
			continue
		}
		if err := d.perform(work, act); err != nil {
			return err
		}
	}
}

func (d *driver) perform(work context.Context, act agent.Action) error {
	switch act := act.(type) {
	case agent.Record:
		return d.commit(work, act.Bodies...)
	case agent.Open:
		return d.open(work, act)
	case agent.Judge:
		return d.judge(work, act)
	case agent.Call:
		return d.call(work, act)
	case agent.Summarise:
		return d.summarise(work, act)
	case agent.Run:
		return d.reads(work, act)
	case agent.Effect:
		return d.effect(work, act)
	case agent.Post:
		return d.post(work, act)
	case agent.Edit:
		return d.edit(work, act)
	case agent.Mark:
		if err := d.platform.React(work, act.Ref, chat.EmojiSeen); err != nil {
			d.Log.Warn("mark a message as seen", "thread", d.run.Thread.String(), "error", err)
		}
		return d.commit(work, memory.Seen{Message: act.Message})
	}
	return fmt.Errorf("perform %T: no such action", act)
}

// commit appends to the log, together with the steps post that went out
// meanwhile, and says so to whom it concerns.
func (d *driver) commit(work context.Context, bodies ...memory.Body) error {
	if ref, ok := d.steps.done(); ok {
		bodies = append(bodies, memory.Posted{Key: d.steps.key, Ref: ref})
	}
	from := len(d.run.Log)
	arrived, err := d.Store.Commit(work, d.run, bodies...)
	if err != nil {
		return err
	}
	d.log.Append(d.run.Log[from:]...)
	d.steps.committed(bodies)
	own := d.run.Log[from : len(d.run.Log)-len(arrived)]
	for _, e := range own {
		d.Observe(d.run, e)
	}
	for _, line := range memory.EffectsOf(d.run.Thread, own).Audit {
		d.Log.Info("audit", "audit", line)
	}
	return nil
}

// wait lets the thread go, unless something arrived meanwhile.
func (d *driver) wait(work context.Context, w agent.Wait) (done bool, err error) {
	if d.steps.settle(work) {
		return false, d.commit(work)
	}
	d.drawSteps(work, true)
	d.platform.Working(d.run.Thread, false)
	more, err := d.Store.Finish(work, d.run, w.Until)
	if err != nil || !more {
		return true, err
	}
	d.platform.Working(d.run.Thread, true)
	return false, d.commit(work)
}

// giveBack lets the thread go after an error, to be tried again.
func (d *driver) giveBack(pause time.Duration) {
	d.platform.Working(d.run.Thread, false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), 5*time.Second)
	defer cancel()
	more, err := d.Store.Finish(ctx, d.run, time.Now().Add(pause))
	if err == nil && more {
		err = d.Store.Handoff(ctx, d.run)
	}
	if err != nil {
		d.Log.Warn("give a thread back", "thread", d.run.Thread.String(), "error", err)
	}
}

func (d *driver) handOff() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), 5*time.Second)
	defer cancel()
	if err := d.Store.Handoff(ctx, d.run); err != nil && !errors.Is(err, memory.ErrFenced) {
		d.Log.Warn("hand a thread on", "thread", d.run.Thread.String(), "error", err)
	}
}

// post makes a post and notes it. The steps, if they are on their way, stand
// before it.
func (d *driver) post(work context.Context, act agent.Post) error {
	if d.steps.settle(work) {
		return d.commit(work)
	}
	ref, err := d.platform.Post(work, d.run.Thread, act.Post, act.Look)
	if err != nil && !errors.Is(err, chat.ErrGone) {
		return fmt.Errorf("post %s: %w", act.Post.Key, err)
	}
	if err != nil {
		d.Log.Error("post", "thread", d.run.Thread.String(), "error", err)
	}
	posted := memory.Posted{Key: act.Post.Key, Ref: ref}
	return d.commit(work, append([]memory.Body{posted}, act.Then...)...)
}

// mostEdits is how often an edit is tried before the turn goes on without it.
const mostEdits = 3

func (d *driver) edit(work context.Context, act agent.Edit) error {
	if d.steps.settle(work) {
		return d.commit(work)
	}
	err := d.platform.Edit(work, d.run.Thread, act.Ref, act.Post)
	if err != nil && !errors.Is(err, chat.ErrGone) && d.retries.count(d.run.Thread) < mostEdits {
		return fmt.Errorf("edit %s: %w", act.Post.Key, err)
	}
	if err != nil {
		d.Log.Error("edit", "thread", d.run.Thread.String(), "error", err)
	}
	return d.commit(work, append([]memory.Body{memory.Posted{Key: act.Key}}, act.Then...)...)
}

// open opens approvals, and denies at once those that nobody could give.
func (d *driver) open(work context.Context, act agent.Open) error {
	var bodies []memory.Body
	for _, a := range act.Asked {
		bodies = append(bodies, a)
		if !d.possible(work, a.Rules.Approvers) {
			bodies = append(bodies, memory.Decided{
				Call: a.Call, Outcome: chat.Denied, Reason: "nobody in this conversation can approve it",
			})
		}
	}
	return d.commit(work, bodies...)
}

func (d *driver) possible(work context.Context, rules []string) bool {
	for _, rule := range rules {
		if !agent.IsGroup(rule) || d.platform.Possible(work, d.run.Thread, rule) {
			return true
		}
	}
	return false
}

func (d *driver) judge(work context.Context, act agent.Judge) error {
	r := act.Reaction
	v := d.Agent.Vote(d.log, act, func(rule string) (bool, error) {
		ok, err := d.platform.Member(work, d.run.Thread, r.By.ID, rule)
		if err != nil {
			d.Log.Warn("look a membership up", "thread", d.run.Thread.String(), "rule", rule, "error", err)
		}
		return ok && err == nil, err
	})
	if err := d.commit(work, v); err != nil {
		return err
	}
	if v.Counts || r.By.Bot || r.Removed {
		return nil
	}
	if err := d.platform.Whisper(work, d.run.Thread, r.By, r.On, "Your reaction does not count: "+v.Reason+"."); err != nil {
		d.Log.Warn("tell a person why", "thread", d.run.Thread.String(), "error", err)
	}
	return nil
}
