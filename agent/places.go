package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Beside lists what is to be done in other places, beside Next. Each action is performed
// once at a time, and nothing waits for it.
func (a *Agent) Beside(log *Log) (out []do.Action) {
	d := a.on(log)
	for _, c := range d.thread.AllCards() {
		out = append(out, d.drawElsewhere(c)...)
	}
	for _, t := range d.thread.Folding {
		out = append(out, d.foldSteps(t))
	}
	return out
}

// drawElsewhere lists what is to be done with the cards of an approval in other places.
func (d *decision) drawElsewhere(c *thread.Call) (out []do.Action) {
	if d.thread.Broken != nil {
		return nil
	}
	for _, p := range c.Copies.Places {
		name := c.CopyName(p)
		// A card that an earlier process may have posted is found also when the
		// approval is over. Else it would ask for ever.
		look := d.before(c.Copies.Notified[p])
		if !d.thread.Has(name) && (c.Pending() || look) {
			card := view.CardElsewhere(d.taint(), c, p)
			card.Key = c.CopyKey(p)
			out = append(out, do.Copy{Place: p, Post: card, Look: look})
		}
	}
	for _, k := range c.Copies.Cards {
		if key := view.Stage(d.thread, c, k.Suffix()); key != "" && !d.thread.Has(key) {
			out = append(out, do.Edit{Ref: k.Ref, At: k.At, Post: view.CardElsewhere(d.taint(), c, k.Place), Key: key})
		}
	}
	return append(out, d.remindDirectly(c)...)
}

// remindDirectly lists the look-ups and reminders for direct conversations.
func (d *decision) remindDirectly(c *thread.Call) (out []do.Action) {
	if !c.Pending() || c.Card.Ref.IsZero() {
		return nil
	}
	if s, ok := approval.NextSearch(c); ok {
		out = append(out, do.Seek{Search: s})
	}
	for _, k := range c.Copies.Cards {
		name := c.ReminderName() + k.Suffix()
		if at := c.Clocks.Reminded; thread.IsDirect(k.Place) && k.In < at.Seq && !d.thread.Has(name) {
			p := d.summonPeople(c, summons{name, at, nil, textStillWaits})
			p.Post.ReplyTo, p.Post.Text.Summons.Card, p.Post.Text.Summons.Quiet = k.Ref, k.Ref, true
			out = append(out, do.Aside{At: k.At, Post: p.Post, Look: p.Look})
		}
	}
	return out
}

// Sought is the entry for people who were found; ok is false when it is of no use any
// more.
func (a *Agent) Sought(log *Log, act do.Seek, who []chat.User, unknown []string) (b memory.Notified, ok bool) {
	return approval.Sought(log.Thread, act.Search, who, unknown)
}

// unwritten names in the thread the people who could not be written to, once all of a
// search were tried.
func (d *decision) unwritten() do.Action {
	for _, c := range d.thread.PendingCalls() {
		for n, s := range c.Copies.Searches {
			name := c.UnwrittenName(n)
			if d.thread.Has(name) || slices.ContainsFunc(s.Places, func(p string) bool { return !d.thread.Has(c.CopyName(p)) }) {
				continue
			}
			if text, who := view.Unwritten(c, s); text != "" {
				p := d.sayNotice(name, c.Card.Ref, text, s.Seq)
				view := view.Approval(d.thread, c)
				// People whom the card mentions are not called again.
				p.Post.Text.Summons = &chat.Summons{Card: c.Card.Ref, Approvers: who, Requester: view.Requester, Exclude: view.Exclude, Quiet: !view.Quiet}
				return p
			}
		}
	}
	return nil
}

// summons calls the approvers, once a clock has struck.
func (d *decision) summons() do.Action {
	for _, c := range d.thread.PendingCalls() {
		if at := c.Clocks.Escalated; at.Seq > 0 && !d.thread.Has(c.EscalationName()) {
			more := c.Asked.Rules.Escalate
			text := fmt.Sprintf("Nobody decided for %s, so `%s` may decide too.", phrase.Long(more.After), strings.Join(more.Approvers, "`, `"))
			return d.summonPeople(c, summons{c.EscalationName(), at, more.Approvers, text})
		}
		if at := c.Clocks.Reminded; at.Seq > 0 && !d.thread.Has(c.ReminderName()) {
			return d.summonPeople(c, summons{c.ReminderName(), at, c.MayNow(), textStillWaits})
		}
	}
	return nil
}

// summons calls people to a card.
type summons struct {
	name string // of the post
	at   thread.Stroke
	who  []string // rules of approvers
	why  string
}

const textStillWaits = "It still waits for a decision."

func (d *decision) summonPeople(c *thread.Call, s summons) do.Post {
	text := fmt.Sprintf("Approval %d: `%s`, asked by %s. %s %s left.",
		c.Asked.Number, c.Tool, phrase.Name(c.Asked.Requester), s.why, phrase.Long(c.Deadline().Sub(s.at.At)))
	p := d.sayNotice(s.name, c.Card.Ref, text, s.at.Seq)
	view := view.Approval(d.thread, c)
	p.Post.Text.Summons = &chat.Summons{Card: c.Card.Ref, Approvers: s.who, Requester: view.Requester, Exclude: view.Exclude, Quiet: view.Quiet}
	return p
}
