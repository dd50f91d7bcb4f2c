package run

import (
	"time"

	"nod/agent/view"
	"nod/chat"
	"nod/llm"
)

// showWork tells the platform what the thread does now, and at marks for how long.
func (d *driver) showWork() {
	w, now := d.work(), d.Host.Now()
	if w.Same(d.shown) {
		w.Since = d.shown.Since
		if w.For, _ = chat.Mark(now.Sub(w.Since)); w.For == d.shown.For {
			return
		}
	} else {
		if w.Since.IsZero() { // of a task it is known from the log
			w.Since = now
		}
		w.For, _ = chat.Mark(now.Sub(w.Since))
	}
	d.show(w)
}

func (d *driver) show(w chat.Work) {
	d.shown = w
	d.platform.Working(d.thread, w)
}

// work is what the thread does.
func (d *driver) work() chat.Work {
	w := view.Work(d.log.Thread)
	d.busy.Store(w.What != "")
	switch {
	case w.What != "":
	case d.shown.Busy(): // a moment later it is at rest
		w = d.shown
	default:
		w.What = "Working"
	}
	if p := d.growth.paused(); p.what != "" {
		w.What, w.Next = p.what, p.next
	} else if !w.Next.IsZero() {
		w.What, w.Next = "Thinking", time.Time{}
	}
	return w
}

// parked is what the thread shows once it is let go, with these entries at its end.
func (d *driver) parked(ended bool) chat.Work {
	w := view.Parked(d.log.Thread)
	if ended || w.What == "" {
		return chat.Work{}
	}
	if w.Since = d.Host.Now(); w.What == d.shown.What {
		w.Since = d.shown.Since
	}
	return w
}

// marksAt is when the sign says next for how long.
func (d *driver) marksAt() time.Time {
	if !d.shown.Busy() {
		return time.Time{}
	}
	_, next := chat.Mark(d.Host.Now().Sub(d.shown.Since))
	return d.shown.Since.Add(next)
}

// pause is the wait of a model call before it tries again.
type pause struct {
	what string // the refusal, for people
	next time.Time
}

// paused says whether the completion waits.
func (g *growth) paused() pause {
	if g == nil {
		return pause{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pause
}

// pauses notes a pause, or its end.
func (g *growth) pauses(p llm.Pause, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pause = pause{}
	if p.For > 0 {
		g.pause = pause{what: refused(p.Fault), next: now.Add(p.For)}
	}
	g.wake.Set()
}

// refused is a refusal for the moment in words for the person.
func refused(f llm.Fault) string {
	switch f {
	case llm.Overloaded:
		return "The model is overloaded"
	case llm.Unreachable:
		return "The model can't be reached"
	case llm.Timeout:
		return "The model took too long"
	}
	return "The model call failed"
}
