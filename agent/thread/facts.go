package thread

import (
	"slices"

	"nod/chat"
	"nod/memory"
)

// RememberTool is the name of the tool by which the model asks to write a fact down.
const RememberTool = "remember"

// FactID is the part of a fact's name that tells a word or a call from others of the
// thread.
func (c *Command) FactID() string {
	if c.Ref.IsZero() || c.About {
		return c.Notice()
	}
	return c.Ref.String()
}

func (s *Thread) takeRecalled(b memory.Recalled) {
	s.Facts = b.Facts
	if s.Open != nil {
		s.Open.Facts = b.Facts
	}
}

// OtherOrganisation is the kind of a person to whom no fact is shown.
const OtherOrganisation = "other organisation"

// HearsOthers says whether words of a person of another organisation are in the turn.
func (t *Turn) HearsOthers() bool {
	return slices.ContainsFunc(t.Senders(^uint64(0)), func(u chat.User) bool { return u.Kind == OtherOrganisation })
}
