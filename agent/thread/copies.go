package thread

import (
	"slices"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Search is a look at whom rules of approvers mean.
type Search struct {
	Seq uint64
	memory.Notified
}

func IsDirect(place string) bool { return strings.HasPrefix(place, "user:") }

func DirectWith(who chat.UserID) string { return "user:" + string(who) }

// noteUnreached notes that the card can't stand in a place.
func (c *Call) noteUnreached(place, why string) {
	if c.Copies.Missed == nil {
		c.Copies.Missed = map[string]string{}
	}
	c.Copies.Missed[place] = why
}

func (c *Call) DirectPlaces() []string {
	return slices.DeleteFunc(slices.Clone(c.Copies.Places), func(p string) bool { return !IsDirect(p) })
}

// The card of an approval may stand in other places too: in a channel, and in direct
// conversations with those who may decide. It is one approval. A vote counts wherever
// it is put, the first decision is the decision, and every card shows it.
//
// Nothing waits for these cards: what can't be shown there is said in the log, and
// people decide in the thread. Where they go is an entry before the first of them is
// posted, so that none is left asking that a process posted which then died.

// Copy is a card in another place.
type Copy struct {
	Place   string // channel:ID, or user:ID for a direct conversation
	Ref     chat.MessageRef
	At      chat.ThreadID // where it stands, as the platform names it
	In      uint64        // Seq of the entry that says so
	shownIn uint64        // as in call, for this card
}

// CopyName is the name of such a card.
func (c *Call) CopyName(place string) string { return "copy/" + c.Nth() + "/" + place }

// CopyKey is the key of such a card. It stays the same when somebody changes the call
// while the card is on its way there: a second one would ask beside it for ever.
func (c *Call) CopyKey(place string) string { return memory.PostKey(c.CopyName(place), c.Ask.First) }

// notify takes where an approval is to be shown.
func (s *Thread) takeNotified(e memory.Entry, b memory.Notified) {
	c := s.Calls[b.Call]
	if c == nil || c.Asked == nil {
		return
	}
	if c.Copies.Notified == nil {
		c.Copies.Notified = map[string]uint64{}
	}
	for _, p := range b.Places {
		if c.Copies.Notified[p] == 0 {
			c.Copies.Notified[p], c.Copies.Places = e.Seq, append(c.Copies.Places, p)
		}
	}
	if len(b.Of) > 0 {
		c.Copies.Searches = append(c.Copies.Searches, Search{e.Seq, b})
	}
}

// takeCopy takes that a card stands somewhere else.
func (s *Thread) takeCopy(seq uint64, b memory.Posted) {
	rest, ok := strings.CutPrefix(memory.PostName(b.Key), "copy/")
	if !ok {
		return
	}
	nth, place, _ := strings.Cut(rest, "/")
	id, _, _ := strings.Cut(nth, "!")
	c := s.Calls[id]
	if c == nil || c.Asked == nil {
		return
	}
	for _, k := range append(slices.Clone(c.Ask.Past), c) {
		if k.Nth() != nth {
			continue
		}
		if b.Ref.IsZero() {
			k.noteUnreached(place, b.Refused)
			return
		}
		at := Copy{Place: place, Ref: b.Ref, At: b.At, In: seq}
		if len(k.Edits.Made) == k.Ask.Before { // else it may show what was asked for before them
			at.shownIn = seq
		}
		k.Copies.Cards = append(k.Copies.Cards, &at)
		if k == c {
			s.Posts.Cards[b.Ref] = c
		}
	}
}

// CopyOn finds the card in another place by its message.
func (c *Call) CopyOn(ref chat.MessageRef) *Copy {
	for _, k := range c.Copies.Cards {
		if k.Ref == ref {
			return k
		}
	}
	return nil
}

// noteRedrawn notes that a card in another place shows the latest change.
func (c *Call) noteRedrawn(seq uint64, name string) {
	for _, k := range c.Copies.Cards {
		if name == c.RedrawnName()+k.Suffix() {
			k.shownIn = seq
		}
	}
}

func (k *Copy) Suffix() string { return "@" + k.Place }

// noteCard notes on which card a vote is.
func (s *Thread) noteCard(b memory.Vote) {
	c := s.Calls[b.Call]
	if c == nil || len(c.Copies.Cards) == 0 {
		return
	}
	for _, r := range s.Inbox.Reacts {
		if r.Seq == b.Reaction {
			if c.Votes.On == nil {
				c.Votes.On = map[uint64]chat.MessageRef{}
			}
			c.Votes.On[r.Seq] = r.On
		}
	}
}

// At gives where a message stands that is in another place; zero for any other.
func (s *Thread) At(ref chat.MessageRef) chat.ThreadID {
	if c := s.Posts.Cards[ref]; c != nil {
		if k := c.CopyOn(ref); k != nil {
			return k.At
		}
	}
	return chat.ThreadID{}
}
