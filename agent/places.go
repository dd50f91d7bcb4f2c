package agent

import (
	"slices"
	"strings"

	"nod/chat"
	"nod/memory"
)

// The card of an approval may stand in other places too: in a channel, and in direct
// conversations with those who may decide. It is one approval. A vote counts wherever
// it is put, the first decision is the decision, and every card shows it.
//
// Nothing waits for these cards: what can't be shown there is said in the log, and
// people decide in the thread. Where they go is an entry before the first of them is
// posted, so that none is left asking that a process posted which then died.

// copied is a card in another place.
type copied struct {
	place   string // channel:ID, or user:ID for a direct conversation
	ref     chat.MessageRef
	at      chat.ThreadID // where it stands, as the platform names it
	in      uint64        // Seq of the entry that says so
	shownIn uint64        // as in call, for this card
}

// Copy shows the card of an approval in another place, and records Posted.
type Copy struct {
	Place string
	Post  chat.Post
	Look  bool
}

func (Copy) action() {}

// copyName is the name of such a card.
func (c *call) copyName(place string) string { return "copy/" + c.nth() + "/" + place }

// copyKey is the key of such a card. It stays the same when somebody changes the call
// while the card is on its way there: a second one would ask beside it for ever.
func (c *call) copyKey(place string) string { return memory.PostKey(c.copyName(place), c.first) }

// notify takes where an approval is to be shown.
func (s *state) notified(e memory.Entry, b memory.Notified) {
	c := s.calls[b.Call]
	if c == nil || c.asked == nil {
		return
	}
	if c.notified == nil {
		c.notified = map[string]uint64{}
	}
	for _, p := range b.Places {
		if c.notified[p] == 0 {
			c.notified[p], c.places = e.Seq, append(c.places, p)
		}
	}
	if len(b.Of) > 0 {
		c.searches = append(c.searches, search{e.Seq, b})
	}
}

// copyPosted takes that a card stands somewhere else.
func (s *state) copyPosted(seq uint64, b memory.Posted) {
	rest, ok := strings.CutPrefix(memory.PostName(b.Key), "copy/")
	if !ok {
		return
	}
	nth, place, _ := strings.Cut(rest, "/")
	id, _, _ := strings.Cut(nth, "!")
	c := s.calls[id]
	if c == nil || c.asked == nil {
		return
	}
	for _, k := range append(slices.Clone(c.past), c) {
		if k.nth() != nth {
			continue
		}
		if b.Ref.IsZero() {
			k.unreached(place, b.Refused)
			return
		}
		at := copied{place: place, ref: b.Ref, at: b.At, in: seq}
		if len(k.changes) == k.before { // else it may show what was asked for before them
			at.shownIn = seq
		}
		k.copies = append(k.copies, &at)
		if k == c {
			s.byRef[b.Ref] = c
		}
	}
}

// copyOn finds the card in another place by its message.
func (c *call) copyOn(ref chat.MessageRef) *copied {
	for _, k := range c.copies {
		if k.ref == ref {
			return k
		}
	}
	return nil
}

// copyRedrawn notes that a card in another place shows the latest change.
func (c *call) copyRedrawn(seq uint64, name string) {
	for _, k := range c.copies {
		if name == c.redrawn()+k.suffix() {
			k.shownIn = seq
		}
	}
}

func (k *copied) suffix() string { return "@" + k.place }

// notifying notes where the card of an approval is to stand too.
func (d *decision) notifying() Action {
	var bodies []memory.Body
	for _, c := range d.s.pendingCalls() {
		if c.ref.IsZero() {
			continue
		}
		var places []string
		for _, id := range c.asked.Rules.Channels {
			if p := "channel:" + id; c.notified[p] == 0 {
				places = append(places, p)
			}
		}
		if len(places) > 0 {
			bodies = append(bodies, memory.Notified{Call: c.ID, Places: places})
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

// Beside is what is to be done in other places, whatever Next says: each at most
// once at a time, and nothing waits for it.
func (a *Agent) Beside(log *Log) (out []Action) {
	d := decision{a: a, s: log.state, log: log}
	for _, c := range d.s.allCards() {
		out = append(out, d.elsewhere(c)...)
	}
	return append(out, d.folds()...)
}

// elsewhere is what is to be done with the cards of an approval in other places.
func (d *decision) elsewhere(c *call) (out []Action) {
	if d.s.broken != nil {
		return nil
	}
	for _, p := range c.places {
		name := c.copyName(p)
		// One that a process before this one may have posted is found, also when
		// the approval is over: it would ask for ever.
		look := d.before(c.notified[p])
		if !d.s.has(name) && (c.pending() || look) {
			card := d.cardElsewhere(c, p)
			card.Key = c.copyKey(p)
			out = append(out, Copy{Place: p, Post: card, Look: look})
		}
	}
	for _, k := range c.copies {
		if key := d.s.stage(c, k.suffix()); key != "" && !d.s.has(key) {
			out = append(out, Edit{Ref: k.ref, At: k.at, Post: d.cardElsewhere(c, k.place), Key: key})
		}
	}
	return append(out, d.direct(c)...)
}

// At gives where a message stands that is in another place; zero for any other.
func (l *Log) At(ref chat.MessageRef) chat.ThreadID {
	if c := l.state.byRef[ref]; c != nil {
		if k := c.copyOn(ref); k != nil {
			return k.at
		}
	}
	return chat.ThreadID{}
}

// votedOn notes on which card a vote is.
func (s *state) votedOn(b memory.Vote) {
	c := s.calls[b.Call]
	if c == nil || len(c.copies) == 0 {
		return
	}
	for _, r := range s.reacts {
		if r.seq == b.Reaction {
			if c.votedOn == nil {
				c.votedOn = map[uint64]chat.MessageRef{}
			}
			c.votedOn[r.seq] = r.On
		}
	}
}

// elsewhere gives what waits on the cards in other places, as p is for the thread's.
func (c *call) elsewhere(p chat.Pending) (out []chat.Pending) {
	for _, k := range c.copies {
		one := p
		one.Thread, one.Ref = k.at, k.ref
		out = append(out, one)
	}
	return out
}
