package run

import (
	"context"
	"strings"
	"sync"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/llm"
)

// growth is a completion on its way, for the steps to show what is thought
// before it is thought out.
type growth struct {
	mu              sync.Mutex
	text, reasoning strings.Builder
	more            chan struct{} // receives when there is more
}

// growPace is how long a growing thought stays as it is at the least.
const growPace = 500 * time.Millisecond

func newGrowth() *growth { return &growth{more: make(chan struct{}, 1)} }

// hear is called with each piece of the completion.
func (g *growth) hear(d llm.Delta) {
	g.mu.Lock()
	if d.Reset {
		g.text.Reset()
		g.reasoning.Reset()
	}
	g.text.WriteString(d.Text)
	g.reasoning.WriteString(d.Reasoning)
	g.mu.Unlock()
	select {
	case g.more <- struct{}{}:
	default:
	}
}

func (g *growth) soFar() (text, reasoning string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String(), g.reasoning.String()
}

// drawGrowth shows the thought as far as it has grown, where the steps message
// stands already and may be drawn again.
func (d *driver) drawGrowth(work context.Context, act agent.Call, g *growth) {
	s := &d.steps
	if time.Since(s.at) < max(growPace, d.pace()) {
		return
	}
	ref, ok := d.stepsRef(act.Turn)
	if !ok {
		return
	}
	text, reasoning := g.soFar()
	p, ok := d.Agent.Growing(d.log, act, text, reasoning)
	if !ok || !s.differs(*p.Steps) {
		return
	}
	s.drawn(*p.Steps)
	if err := d.platform.Edit(work, d.run.Thread, ref, p); err != nil {
		d.Log.Debug("draw the steps", "thread", d.run.Thread.String(), "error", err)
	}
}

// stepsRef is where the turn's steps message stands.
func (d *driver) stepsRef(turn uint64) (chat.MessageRef, bool) {
	if ref, ok := agent.Posted(d.log, agent.StepsKey(turn)); ok {
		return ref, !ref.IsZero()
	}
	return d.steps.done()
}
