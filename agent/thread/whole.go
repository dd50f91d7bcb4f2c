package thread

import (
	"reflect"
	"slices"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Turn finds a turn by its id; nil where the log holds it no more.
func (s *Thread) Turn(id uint64) *Turn {
	return first(s.Turns, func(t *Turn) bool { return t.ID == id })
}

// LastTry is the last turn. A call by hand that could not even be asked for does not
// count.
func (s *Thread) LastTry() *Turn {
	return last(s.Turns, func(t *Turn) bool { return len(t.Steps) == 0 || !t.Steps[0].Refused() })
}

// AnsweredBy finds the turn that a message is the answer of; nil for any other message.
func (s *Thread) AnsweredBy(ref chat.MessageRef) *Turn {
	if ref.IsZero() {
		return nil
	}
	return last(s.Turns, func(t *Turn) bool { return s.Posts.Refs[t.AnswerName()] == ref })
}

// Shown lists the turns that a cut leaves in the prompt.
func (s *Thread) Shown(cut memory.Trimmed) []*Turn {
	return slices.DeleteFunc(slices.Clone(s.Turns), func(t *Turn) bool {
		return t.ID < cut.Before && t != s.Open
	})
}

// Running lists the calls of the open turn that were begun and have no result yet.
func (s *Thread) Running() []*Call {
	return s.Open.callsThat(func(c *Call) bool { return c.Started && c.Result == nil })
}

// Over says whether a call has its result, or is unknown.
func (s *Thread) Over(call string) bool {
	c := s.Calls[call]
	return c == nil || c.Result != nil
}

// AskedCalls lists the calls with an approval, in order.
func (s *Thread) AskedCalls() []*Call {
	var out []*Call
	for _, t := range s.Turns {
		out = append(out, t.callsThat(func(c *Call) bool { return c.Asked != nil })...)
	}
	return out
}

// PendingCalls lists the calls that wait for people, in order.
func (s *Thread) PendingCalls() []*Call {
	return slices.DeleteFunc(s.AskedCalls(), func(c *Call) bool { return !c.Pending() })
}

// AllCards lists the approvals in order, also those that were asked for again.
func (s *Thread) AllCards() (out []*Call) {
	for _, c := range s.AskedCalls() {
		out = append(append(out, c.Ask.Past...), c)
	}
	return out
}

// Has says whether the post with this name was made, or never will be.
func (s *Thread) Has(name string) bool { _, ok := s.Posts.Refs[name]; return ok }

// Own says whether the bot made a message of this thread.
func (s *Thread) Own(ref chat.MessageRef) bool {
	for name, r := range s.Posts.Refs {
		if r == ref && !strings.HasPrefix(name, "copy/") { // a card in another place is not of this thread
			return true
		}
	}
	return false
}

// Unfolded says whether the steps message of a turn still shows the turn as running.
func (s *Thread) Unfolded(t *Turn) bool {
	return !s.Posts.Refs[t.StepsName()].IsZero() && !s.Has(t.FoldName())
}

// Unbind forgets the digests that approvals are bound to, since the tools may have
// changed.
func (s *Thread) Unbind() {
	for _, c := range s.Calls {
		c.bound = ""
	}
}

// Equal says whether two threads are the same, but for values that are computed on demand.
func (s *Thread) Equal(other *Thread) bool {
	for _, t := range []*Thread{s, other} {
		for _, c := range t.Calls {
			for _, k := range append(slices.Clone(c.Ask.Past), c) {
				k.digest, k.bound = "", ""
			}
		}
	}
	return reflect.DeepEqual(s, other)
}
