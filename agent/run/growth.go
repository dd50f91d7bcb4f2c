package run

import (
	"slices"
	"strings"
	"sync"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/llm"
)

// growth is a growing completion, shown while the model writes. Only the driver's
// goroutine touches act, pace and drawn.
type growth struct {
	act   do.Call
	wake  Signal
	pace  time.Duration
	drawn time.Time

	mu              sync.Mutex
	text, reasoning strings.Builder
	calls           bool
	more            bool // than was drawn
	pause           pause
}

// The shortest interval between two drawings of growing text: by edits of a message,
// and without a message.
const (
	editPace = 500 * time.Millisecond
	growPace = 60 * time.Millisecond
)

// grows begins to listen to a completion.
func (d *driver) grows(act do.Call) *growth {
	d.grow(nil) // of an answer that became a draft
	d.growth = &growth{act: act, wake: d.wake, drawn: d.Host.Now(), pace: editPace}
	if d.platform.Able().Grows {
		d.growth.pace = growPace
	}
	return d.growth
}

// hear is called with each piece of the completion.
func (g *growth) hear(d llm.Delta) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pause = pause{}
	if d.Reset {
		g.text.Reset()
		g.reasoning.Reset()
		g.calls = false
	}
	g.text.WriteString(d.Text)
	g.reasoning.WriteString(d.Reasoning)
	g.calls = g.calls || d.Calls
	if !g.more {
		g.more = true
		g.wake.Set()
	}
}

// take returns the new pieces, to be drawn.
func (g *growth) take() agent.Heard {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.more = false
	return agent.Heard{Text: g.text.String(), Reasoning: g.reasoning.String(), Calls: g.calls}
}

// growsAt is when there is more to draw of the completion on its way.
func (d *driver) growsAt() time.Time {
	g := d.growth
	if g == nil {
		return time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.more {
		return time.Time{}
	}
	at := g.drawn.Add(g.pace)
	if steps := d.steps.at.Add(d.pace()); steps.After(at) {
		return steps
	}
	return at
}

// drawGrowth shows the growing thought and answer: in the steps message if there is
// one, and else on platforms that show growing text.
func (d *driver) drawGrowth() {
	now := d.Host.Now()
	if at := d.growsAt(); at.IsZero() || now.Before(at) {
		return
	}
	g := d.growth
	g.drawn = now
	heard := g.take()
	var steps, answer chat.Post
	var ref chat.MessageRef
	var thinks, answers bool
	err := d.safely(d.thread, "draw what grows", func() error {
		steps, ref, thinks = d.Agent.Growing(d.log, g.act, heard)
		answer, answers = d.Agent.Answering(d.log, g.act, heard)
		return nil
	})
	if err != nil {
		return // it was logged, and is drawn for show
	}
	var posts []chat.Post
	switch {
	case !thinks:
	case ref.IsZero():
		posts = append(posts, steps)
	case d.steps.differs(*steps.Steps):
		d.steps.drawn(*steps.Steps, now)
		d.redraw(ref, steps)
	}
	if answers {
		posts = append(posts, answer)
	}
	d.grow(posts)
}

// grow shows growing text on the platform, if it can.
func (d *driver) grow(posts []chat.Post) {
	if !d.platform.Able().Grows || len(posts) == 0 && len(d.grown) == 0 {
		return
	}
	d.grown = posts
	_ = d.safely(d.thread, "show what grows", func() error { d.platform.Grow(d.thread, posts); return nil }) // it logs
}

// grew ends listening to a completion. What was shown as its answer stays until it
// is posted, if it is the answer.
func (d *driver) grew(g *growth, answers bool) {
	if g != nil && d.growth != g {
		return
	}
	d.growth = nil
	d.grow(slices.DeleteFunc(slices.Clone(d.grown), func(p chat.Post) bool { return !answers || p.Text == nil }))
}
