package agent

import (
	"strings"

	"nod/agent/do"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Heard is a completion as far as it was written.
type Heard struct {
	Text, Reasoning string
	Calls           bool // it calls a tool: its text is a thought
}

// StepsPost is the steps message of the running turn; ok is false before the first call.
// posted is where it stands on the platform, zero while it does not.
func (a *Agent) StepsPost(log *Log) (p chat.Post, posted chat.MessageRef, look, ok bool) {
	s := log.Thread
	t := s.Open
	if t == nil || !t.Acts() {
		return chat.Post{}, chat.MessageRef{}, false, false
	}
	steps := view.Steps(s, t, a.Prices)
	name := t.StepsName()
	return chat.Post{Key: name, ReplyTo: t.ReplyTo(), Steps: &steps}, s.Posts.Refs[name], t.ID < log.claim.Since, !s.Has(name) || !s.Posts.Refs[name].IsZero()
}

// Growing is the steps message while the completion of c is being written, and where it
// stands; ok is false while there is nothing to show. In a turn without steps it stands
// nowhere, and only platforms show it that can take it back.
func (a *Agent) Growing(log *Log, c do.Call, h Heard) (p chat.Post, ref chat.MessageRef, ok bool) {
	thought := a.thinks(c, h)
	if thought == "" {
		return chat.Post{}, ref, false
	}
	item := chat.Step{Thought: thought}
	if t := log.Thread.Open; t == nil || !t.Acts() {
		steps := chat.Steps{Status: "Thinking", Items: []chat.Step{item}}
		return chat.Post{Key: "growing/steps", Steps: &steps}, ref, true
	}
	p, ref, _, ok = a.StepsPost(log)
	if ok {
		p.Steps.Items = append(p.Steps.Items, item)
	}
	return p, ref, ok
}

// thinks is the thought as far as it was written.
func (a *Agent) thinks(c do.Call, h Heard) string {
	g, can := a.As(c.Request.Model).Protocol.(speak.Grower)
	if !can || len(c.Tools) == 0 || c.Phase != "" && c.Phase != memory.SolveStep {
		return h.Reasoning
	}
	thought := g.Growing(h.Text)
	if h.Calls {
		thought = strings.TrimSpace(h.Text)
	}
	if thought == "" {
		return h.Reasoning
	}
	return thought
}

// Answering is the turn's answer as far as it was written; ok is false while there is
// none. It stands nowhere: the whole answer is posted.
func (a *Agent) Answering(log *Log, c do.Call, h Heard) (p chat.Post, ok bool) {
	g, can := a.As(c.Request.Model).Protocol.(speak.Grower)
	if !can || h.Calls || c.Phase != "" || !log.answers(c) {
		return chat.Post{}, false
	}
	text, _ := strategy.Unmarked(g.Answering(c.Tools, h.Text))
	return chat.Post{Key: "growing/answer", Text: &chat.Text{Markdown: text}}, text != ""
}

// answers says whether a call writes the answer, and not a draft to be checked.
func (l *Log) answers(c do.Call) bool {
	if t := l.Thread.Open; t != nil {
		return strategy.Kind(t.Strategy) != strategy.Reflexion
	}
	for _, b := range c.Before {
		if o, ok := b.(memory.Opened); ok {
			return strategy.Kind(o.Strategy) != strategy.Reflexion
		}
	}
	return true
}
