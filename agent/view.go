package agent

import (
	"nod/agent/view"
	"nod/chat"
)

// StepsPost is the steps message of the running turn, as it stands; ok is
// false when there is none to show, since no tool was called yet. posted is
// where it stands on the platform, zero while it does not.
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
