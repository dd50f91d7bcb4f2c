package run

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// stepsWork is what the first steps post is called among the works. It goes out
// beside the work, so that it does not hold it up; nothing else is posted until
// it stands.
const stepsWork = "steps"

// stepsPost is how the steps message looks, as far as this driver drew it.
type stepsPost struct {
	key  string     // of the first post, once it was begun
	last chat.Steps // as last drawn, without its version
	at   time.Time  // when that was
	owed bool       // they look different by now
}

// next is when they may be drawn again, if they have to be.
func (s *stepsPost) next(pace time.Duration) time.Time {
	if !s.owed {
		return time.Time{}
	}
	return s.at.Add(pace)
}

// differs says whether steps look different from what was drawn last.
func (s *stepsPost) differs(v chat.Steps) bool {
	v.Version = 0
	return !reflect.DeepEqual(v, s.last)
}

// drawn notes what was drawn last.
func (s *stepsPost) drawn(v chat.Steps, now time.Time) {
	v.Version = 0
	s.last, s.at, s.owed = v, now, false
}

// showSteps draws the steps as they stand: the first post beside the work, later
// ones as edits, no more often than the platform's pace.
func (d *driver) showSteps(next agent.Action) {
	switch next.(type) {
	case agent.Record, agent.Open:
		return // what is drawn now would be false at once: a call that is to be asked about does not run
	}
	d.drawSteps(false)
	d.drawGrowth()
}

func (d *driver) drawSteps(now bool) {
	p, ref, look, ok := d.Agent.StepsPost(d.log)
	s, clock := &d.steps, d.Host.Now()
	switch {
	case !ok || ref.IsZero() && s.key == p.Key:
	case ref.IsZero():
		s.key = p.Key
		d.firstSteps(p, look)
		s.drawn(*p.Steps, clock)
	default:
		if s.owed = s.differs(*p.Steps); !s.owed || !now && clock.Sub(s.at) < d.pace() {
			return
		}
		s.drawn(*p.Steps, clock)
		d.redraw(ref, p)
	}
}

func (d *driver) redraw(ref chat.MessageRef, p chat.Post) {
	err := d.safely(d.thread, "draw the steps", func() error { return d.platform.Edit(d.ctx, d.thread, ref, p) })
	if err != nil {
		d.Log.Debug("draw the steps", "thread", d.thread.String(), "error", err)
	}
}

// firstSteps posts the steps message. Its reference goes with the next commit.
func (d *driver) firstSteps(p chat.Post, look bool) {
	d.begin(stepsWork, posts, func(ctx context.Context) outcome {
		ref, err := d.send(ctx, p, look)
		return outcome{settle: func() error {
			var refused chat.Refused
			posted := memory.Posted{Key: p.Key, Ref: ref}
			switch {
			case err == nil:
			case errors.As(err, &refused):
				posted.Refused = refused.Notice()
				fallthrough
			default:
				d.Log.Error("post the steps", "thread", d.thread.String(), "error", err)
			}
			d.owed = append(d.owed, posted)
			return nil
		}}
	})
}

func (d *driver) pace() time.Duration {
	if p, ok := d.platform.(Pacer); ok {
		return p.Pace()
	}
	return 0
}

// growth is a completion on its way, for the steps to show what is thought
// before it is thought out. Only the driver's goroutine touches act and drawn.
type growth struct {
	act   agent.Call
	wake  Signal
	drawn time.Time

	mu              sync.Mutex
	text, reasoning strings.Builder
	more            bool // than was drawn
}

// growPace is how long a growing thought stays as it is at the least.
const growPace = 500 * time.Millisecond

// grows begins to listen to a completion.
func (d *driver) grows(act agent.Call) *growth {
	d.growth = &growth{act: act, wake: d.wake, drawn: d.Host.Now()}
	return d.growth
}

// hear is called with each piece of the completion.
func (g *growth) hear(d llm.Delta) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.Reset {
		g.text.Reset()
		g.reasoning.Reset()
	}
	g.text.WriteString(d.Text)
	g.reasoning.WriteString(d.Reasoning)
	if !g.more {
		g.more = true
		g.wake.Set()
	}
}

// next is when there is more to draw.
func (g *growth) next() time.Time {
	if g == nil {
		return time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.more {
		return time.Time{}
	}
	return g.drawn.Add(growPace)
}

func (g *growth) take() (text, reasoning string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.more = false
	return g.text.String(), g.reasoning.String()
}

// drawGrowth shows the thought as far as it has grown, where the steps message
// stands already and may be drawn again.
func (d *driver) drawGrowth() {
	g, now := d.growth, d.Host.Now()
	if at := g.next(); at.IsZero() || now.Before(at) || now.Sub(d.steps.at) < d.pace() {
		return
	}
	g.drawn = now
	text, reasoning := g.take()
	var p chat.Post
	var ref chat.MessageRef
	ok := false
	err := d.safely(d.thread, "draw a thought", func() error { p, ref, ok = d.Agent.Growing(d.log, g.act, text, reasoning); return nil })
	if err != nil || !ok || ref.IsZero() || !d.steps.differs(*p.Steps) {
		return
	}
	d.steps.drawn(*p.Steps, now)
	d.redraw(ref, p)
}
