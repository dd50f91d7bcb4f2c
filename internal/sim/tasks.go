package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// job is a task of a server that outlives every process.
type job struct {
	ends    time.Duration
	stopped bool
}

// poll is how often a process asks how a task stands.
const poll = 4 * time.Second

// task runs a call that goes on at its server: every other one first needs the call once
// more, and then all are tasks.
func (b *toolbox) task(ctx context.Context, d chat.Desk, call llm.Call, p params) (llm.Result, error) {
	w := b.n.w
	if at := d.Resumes; at == nil || !at.Repeats {
		h := chat.Handle{Key: fmt.Sprint("more", w.since), Server: "ops"}
		x := w.check.begins(b.n, d, call, b.version)
		_ = b.n.p.sleep(ctx, seconds(float64(p.S%8)))
		err := b.n.request(ctx, func() error {
			if at != nil || p.S%2 == 0 {
				h.Key, h.Repeats = fmt.Sprint("task", len(w.tasks)), true
				w.tasks[h.Key] = &job{ends: w.since + seconds(float64(p.S))}
			}
			return nil
		})
		w.check.ends(x, err)
		d.Hold(h)
		return llm.Result{}, err
	}
	t := w.tasks[d.Resumes.Key]
	for ended := false; ; {
		err := b.n.request(ctx, func() error {
			ended = w.since >= t.ends
			t.stopped = t.stopped || d.Resumes.Stop && !ended
			return nil
		})
		switch {
		case err != nil:
			return llm.Result{Failed: true}, err
		case t.stopped:
			return llm.Result{Text: "cancelled " + p.ID, Failed: true}, nil
		case ended:
			return llm.Result{Text: "did " + p.ID}, nil
		}
		_ = b.n.p.sleep(ctx, poll)
	}
}

// run is that of a call; nil if there was none.
func (l *ledger) run(call string) *execution { return l.c.byCall[l.id.Root+"#"+call] }

// learns notes that the log knows what came of a call's runs.
func (l *ledger) learns(call string) {
	for _, x := range []*execution{l.run(call), l.run(call + goesOn)} {
		if x != nil {
			x.known = true
		}
	}
}

// hold reads the handle of a call.
func (l *ledger) hold(b memory.Held, fail complain) {
	l.learns(b.Call)
	switch k := l.calls[b.Call]; {
	case k == nil || len(k.results) > 0: // it is too late
	case k.started == nil && !l.c.lost: // else the store may have lost that it was
		fail(ruleTasks, "%s is held as %s, and never started", b.Call, b.Handle.Key)
	case !slices.Contains(k.handles, b.Handle.Key): // else it comes by letter, too
		k.held, k.handles = &b.Handle, append(k.handles, b.Handle.Key)
	}
}

// endsTask checks the result of a call that goes on at its server.
func (l *ledger) endsTask(k *call, b memory.Result, fail complain) {
	if k.held == nil || !k.held.Repeats {
		return
	}
	t, late := l.c.w.tasks[k.held.Key], time.Duration(0)
	if !t.stopped {
		late = l.c.w.since - t.ends
	}
	switch {
	case len(k.results) > 0:
		fail(ruleTasks, "%s ends twice", b.Call)
	case late < 0 || (b.State == chat.CallDone) == t.stopped:
		fail(ruleTasks, "%s is %s, and its task is %+v", b.Call, b.State, t)
	case l.c.w.faults == 0 && late > poll+mostStop:
		fail(ruleTasks, "the end of %s is heard of after %v", b.Call, late)
	}
}

// endsTasks checks that a turn leaves no task behind it.
func (l *ledger) endsTasks(turn uint64, fail complain) {
	for id, k := range l.calls {
		if k.turn != turn || k.held == nil || !k.held.Repeats {
			continue
		}
		if t := l.c.w.tasks[k.held.Key]; !t.stopped && l.c.w.since < t.ends {
			fail(ruleTasks, "turn %d ends, and the server still works on %s", turn, id)
		}
	}
}
