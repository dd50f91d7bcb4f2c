package agent

import (
	"nod/agent/speak"
	"nod/chat"
	"nod/memory"
)

// Growing is the steps message while the completion of c is on its way; ok is
// false while there is nothing of it to show. An answer does not grow there.
func (a *Agent) Growing(log *Log, c Call, text, reasoning string) (p chat.Post, ok bool) {
	thought := reasoning
	if g, can := a.Protocol.(speak.Grower); can && len(c.Tools) > 0 && (c.Phase == "" || c.Phase == memory.SolveStep) {
		thought = g.Growing(text)
	}
	if thought == "" {
		return chat.Post{}, false
	}
	p = a.Waiting(log, c)
	p.Steps.Items = append(p.Steps.Items, chat.Step{Thought: thought})
	return p, true
}

// Posted says where the post with a key stands.
func Posted(log *Log, key string) (chat.MessageRef, bool) {
	ref, ok := log.state.posted[key]
	return ref, ok
}
