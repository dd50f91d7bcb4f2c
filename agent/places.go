package agent

import (
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Copy shows the card of an approval in another place, and records Posted.
type Copy struct {
	Place string
	Post  chat.Post
	Look  bool
}

func (Copy) action() {}

// notifying notes where the card of an approval is to stand too.
func (d *decision) notifying() Action {
	var bodies []memory.Body
	for _, c := range d.s.PendingCalls() {
		if c.Card.Ref.IsZero() {
			continue
		}
		var places []string
		for _, id := range c.Asked.Rules.Channels {
			if p := "channel:" + id; c.Copies.Notified[p] == 0 {
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
	d := a.on(log)
	for _, c := range d.s.AllCards() {
		out = append(out, d.elsewhere(c)...)
	}
	return append(out, d.folds()...)
}

// elsewhere is what is to be done with the cards of an approval in other places.
func (d *decision) elsewhere(c *thread.Call) (out []Action) {
	if d.s.Broken != nil {
		return nil
	}
	for _, p := range c.Copies.Places {
		name := c.CopyName(p)
		// One that a process before this one may have posted is found, also when
		// the approval is over: it would ask for ever.
		look := d.before(c.Copies.Notified[p])
		if !d.s.Has(name) && (c.Pending() || look) {
			card := view.CardElsewhere(d.taint(), c, p)
			card.Key = c.CopyKey(p)
			out = append(out, Copy{Place: p, Post: card, Look: look})
		}
	}
	for _, k := range c.Copies.Cards {
		if key := view.Stage(d.s, c, k.Suffix()); key != "" && !d.s.Has(key) {
			out = append(out, Edit{Ref: k.Ref, At: k.At, Post: view.CardElsewhere(d.taint(), c, k.Place), Key: key})
		}
	}
	return append(out, d.direct(c)...)
}

// At gives where a message stands that is in another place; zero for any other.
func (l *Log) At(ref chat.MessageRef) chat.ThreadID {
	if c := l.Thread.Posts.Cards[ref]; c != nil {
		if k := c.CopyOn(ref); k != nil {
			return k.At
		}
	}
	return chat.ThreadID{}
}
