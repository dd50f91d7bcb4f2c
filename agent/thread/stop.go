package thread

import (
	"slices"

	"nod/chat"
)

// StopAsked finds the first word, button or emoji that stops the open turn, and the last
// entry that is stopped with it.
func (s *Thread) StopAsked() (by chat.User, seen uint64, ok bool) {
	note := func(who chat.User, seq uint64) {
		if !ok {
			by = who
		}
		seen, ok = max(seen, seq), true
	}
	for _, c := range s.Inbox.Commands {
		if (c.Word == "stop" || c.Word == "forget") && s.stoppable(c.Seq) {
			note(c.From, c.Seq)
		}
	}
	for _, h := range s.Inbox.Halts {
		if s.stoppable(h.Seq) {
			note(h.By, h.Seq)
		}
	}
	for _, r := range s.Inbox.Reacts {
		if r.Emoji == chat.EmojiStop && !r.Removed && s.Folk.People[r.By.ID] && s.stoppable(r.Seq) && s.inTurn(r.On) {
			note(r.By, r.Seq)
		}
	}
	return by, seen, ok
}

// stoppable says whether a stop with this Seq can end anything.
func (s *Thread) stoppable(seq uint64) bool {
	if t := s.Open; t != nil {
		return t.Stopped == nil && t.Failed == nil && !t.Answered(s) && t.ID < seq
	}
	return len(s.Inbox.Waiting) > 0 && s.Inbox.Waiting[0].Seq < seq
}

// inTurn says whether a message belongs to the open turn or waits for one.
func (s *Thread) inTurn(ref chat.MessageRef) bool {
	msgs := s.Inbox.Waiting
	if s.Open != nil {
		msgs = slices.Concat(s.Open.Msgs, msgs)
		for _, name := range s.Open.Posts() {
			if s.Posts.Refs[name] == ref {
				return true
			}
		}
	}
	return slices.ContainsFunc(msgs, func(m *Message) bool { return m.Ref == ref })
}

// StoppedBy says whether an entry stopped a turn.
func (s *Thread) StoppedBy(seq uint64) bool {
	return slices.ContainsFunc(s.Turns, func(t *Turn) bool {
		return t.Stopped != nil && t.ID < seq && seq <= t.Stopped.Seen
	})
}
