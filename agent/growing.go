package agent

import (
	"nod/agent/speak"
	"nod/chat"
	"nod/memory"
)

// Growing is the steps message while the completion of c is on its way, and where
// it stands; ok is false while there is nothing of it to show. An answer does not
// grow there.
func (a *Agent) Growing(log *Log, c Call, text, reasoning string) (p chat.Post, ref chat.MessageRef, ok bool) {
	thought := reasoning
	if g, can := a.Protocol.(speak.Grower); can && len(c.Tools) > 0 && (c.Phase == "" || c.Phase == memory.SolveStep) {
		thought = g.Growing(text)
	}
	if thought == "" {
		return chat.Post{}, ref, false
	}
	p, ref, _, ok = a.StepsPost(log)
	if ok {
		p.Steps.Items = append(p.Steps.Items, chat.Step{Thought: thought})
	}
	return p, ref, ok
}
