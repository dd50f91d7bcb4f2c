package thread

import (
	"slices"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Search is a look-up of the people that rules of approvers mean.
type Search struct {
	Seq uint64
	memory.Notified
}

// IsDirect says whether a place is a direct conversation.
func IsDirect(place string) bool { return strings.HasPrefix(place, "user:") }

// DirectWith is the direct conversation with a person.
func DirectWith(who chat.UserID) string { return "user:" + string(who) }

// DirectPlaces lists the direct conversations where the card is to stand.
func (c *Call) DirectPlaces() []string {
	return slices.DeleteFunc(slices.Clone(c.Copies.Places), func(p string) bool { return !IsDirect(p) })
}

// The card of an approval may stand in other places too: in a channel, and in direct
// conversations with people who may decide. It is one approval. A vote counts on every
// card, the first decision stands, and every card shows it.
//
// Nothing waits for these cards. A place that can't show one is noted in the log, and
// people decide in the thread. The places are an entry before the first card is posted. So
// a card of a process that died is found again, and does not ask for ever.

// Copy is a card in another place.
type Copy struct {
	Place   string // channel:ID, or user:ID for a direct conversation
	Ref     chat.MessageRef
	At      chat.ThreadID // where it stands, as the platform names it
	In      uint64        // Seq of the entry that says so
	shownIn uint64        // as in Card
}

// CopyName names the card in another place.
func (c *Call) CopyName(place string) string { return "copy/" + c.Nth() + "/" + place }

// OnItsWay says whether a card of the call is being posted in another place. People may vote
// on it before the log names it.
func (s *Thread) OnItsWay(c *Call) bool {
	return slices.ContainsFunc(c.Copies.Places, func(p string) bool { return !s.Has(c.CopyName(p)) })
}

// CopyKey is the key of that card. It stays the same when people change the call while the
// card is on its way. Else a second card would ask beside it for ever.
func (c *Call) CopyKey(place string) string { return memory.PostKey(c.CopyName(place), c.Ask.First) }

// takeNotified notes the places where an approval is to be shown.
func (s *Thread) takeNotified(e memory.Entry, b memory.Notified) {
	c := s.Calls[b.Call]
	if c == nil || c.Asked == nil {
		return
	}
	for _, p := range b.Places {
		if c.Copies.Notified[p] == 0 {
			c.Copies.Notified, c.Copies.Places = put(c.Copies.Notified, p, e.Seq), append(c.Copies.Places, p)
		}
	}
	if len(b.Of) > 0 {
		c.Copies.Searches = append(c.Copies.Searches, Search{e.Seq, b})
	}
}

// takeCopy notes that a card stands somewhere else.
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
			k.Copies.Missed = put(k.Copies.Missed, place, b.Refused)
			return
		}
		at := Copy{Place: place, Ref: b.Ref, At: b.At, In: seq}
		if len(k.Edits.Made) == k.Ask.Before { // else it may show older arguments
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
	return first(c.Copies.Cards, func(k *Copy) bool { return k.Ref == ref })
}

// noteRedrawn notes that a card in another place shows the latest change.
func (c *Call) noteRedrawn(seq uint64, name string) {
	for _, k := range c.Copies.Cards {
		if name == c.RedrawnName()+k.Suffix() {
			k.shownIn = seq
		}
	}
}

// Suffix tells the edits of this card from those of others.
func (k *Copy) Suffix() string { return "@" + k.Place }

// noteCard notes which card a vote is on.
func (s *Thread) noteCard(b memory.Vote) {
	c := s.Calls[b.Call]
	if c == nil || len(c.Copies.Cards) == 0 {
		return
	}
	for _, r := range s.Inbox.Reacts {
		if r.Seq == b.Reaction {
			c.Votes.On = put(c.Votes.On, r.Seq, r.On)
		}
	}
}

// At is the place of a card in another place; zero for any other message.
func (s *Thread) At(ref chat.MessageRef) chat.ThreadID {
	if c := s.Posts.Cards[ref]; c != nil {
		if k := c.CopyOn(ref); k != nil {
			return k.At
		}
	}
	return chat.ThreadID{}
}
