package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// An approval that nobody sees is a denial. So an approval that waits has clocks:
// one reminds people once, one lets more people decide. A third one runs once it is
// approved: whoever approved a call did not mean it to run days later, when the bot
// was down meanwhile, and so it is asked for anew.
//
// Each clock strikes by an entry, and so once. Who may decide is a question of when
// somebody voted and not of whether the clock had struck by then, so that nobody has
// to wait for a process that is down.

// stroke is an entry by which a clock struck.
type stroke struct {
	seq uint64
	at  time.Time
}

// strike takes that a clock struck.
func (s *state) strike(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Notified:
		s.notified(e, b)
	case memory.Reminded:
		if c := s.calls[b.Call]; c != nil {
			c.reminded = stroke{e.Seq, e.At}
		}
	case memory.Escalated:
		if c := s.calls[b.Call]; c != nil {
			c.escalated = stroke{e.Seq, e.At}
		}
	}
}

// ask opens an approval, or opens it again.
func (s *state) ask(e memory.Entry, b memory.Asked) {
	s.asks = max(s.asks+1, b.Number)
	c := s.calls[b.Call]
	switch {
	case c == nil:
	case c.asked == nil:
		c.asked, c.askedAt, c.first, c.before = &b, e.At, b.Digest, len(c.changes)
		c.outdate(b)
	case b.Again == c.asked.Again+1 && (c.waitsToBegin() || b.Stricter && c.result == nil && !c.started):
		old := *c
		old.past, old.redone, old.outdated, old.lax = nil, b.Number, b.Changed, b.Stricter
		c.past = append(c.past, &old)
		delete(s.byRef, c.ref) // what was put on the old card is not for the new one
		for _, k := range c.copies {
			delete(s.byRef, k.ref)
		}
		c.asked, c.askedAt, c.askedIn, c.ref, c.stood = &b, e.At, 0, chat.MessageRef{}, time.Time{}
		c.first, c.before = b.Digest, len(c.changes)
		c.votes, c.decided, c.ended, c.button, c.reasons = nil, nil, time.Time{}, false, nil
		c.reminded, c.escalated = stroke{}, stroke{}
		c.hidden = false
		c.places, c.notified, c.copies, c.searches, c.missed = nil, nil, nil, nil, nil
		c.outdate(b)
	}
}

// nth names this time that the call is asked for.
func (c *call) nth() string {
	if c.asked == nil {
		return c.ID
	}
	return memory.Nth(c.ID, c.asked.Again)
}

func (c *call) askName() string { return memory.AskName(c.nth()) }

// posts lists the names of the posts that asked for the call.
func (c *call) posts() (names []string) {
	for _, k := range append(slices.Clone(c.past), c) {
		names = append(names, k.askName(), k.reminder(), k.escalation())
		for n := range k.searches {
			names = append(names, k.unwrittenName(n))
		}
	}
	return names
}

func (c *call) reminder() string   { return "remind/" + c.nth() }
func (c *call) escalation() string { return "escalate/" + c.nth() }

// widened names the edit by which the card shows that more people may decide.
func (c *call) widened() string { return "escalated/" + c.nth() }

// allCards lists the approvals in order, those first that were asked for again.
func (s *state) allCards() (out []*call) {
	for _, c := range s.askedCalls() {
		out = append(append(out, c.past...), c)
	}
	return out
}

// escalatedAt says whether more people might decide at some time.
func (c *call) escalatedAt(at time.Time) bool {
	e := c.asked.Rules.Escalate
	return e.After > 0 && !at.Before(c.askedAt.Add(e.After))
}

// approversAt lists who might decide at some time.
func (c *call) approversAt(at time.Time) []string {
	if c.escalatedAt(at) {
		return c.asked.Rules.AllApprovers()
	}
	return c.asked.Rules.Approvers
}

// mayNow lists who may decide, as people were told.
func (c *call) mayNow() []string {
	if c.escalated.seq > 0 {
		return c.asked.Rules.AllApprovers()
	}
	return c.asked.Rules.Approvers
}

// widerAt gives the rules at some time, where they were not those any more that the
// approval began with.
func (c *call) widerAt(at time.Time) *memory.Rules {
	if !c.escalatedAt(at) {
		return nil
	}
	r := c.asked.Rules
	r.Approvers = r.AllApprovers()
	return &r
}

// remindAt is when people are reminded of the approval, and escalateAt when more
// are told that they may decide; zero where that is over, or there is nothing yet to
// remind of.
func (c *call) remindAt() time.Time {
	return c.strikes(c.asked.Rules.Remind, c.reminded)
}

func (c *call) escalateAt() time.Time {
	return c.strikes(c.asked.Rules.Escalate.After, c.escalated)
}

func (c *call) strikes(after time.Duration, was stroke) time.Time {
	if after <= 0 || was.seq > 0 || c.ref.IsZero() {
		return time.Time{}
	}
	return c.askedAt.Add(after)
}

// clocks notes which clocks strike.
func (d *decision) clocks() Action {
	var bodies []memory.Body
	due := func(at time.Time) bool { return !at.IsZero() && !d.s.now.Before(at) }
	for _, c := range d.s.pendingCalls() {
		if due(c.escalateAt()) {
			bodies = append(bodies, memory.Escalated{Call: c.ID, Approvers: c.asked.Rules.Escalate.Approvers})
		}
		if due(c.remindAt()) {
			bodies = append(bodies, memory.Reminded{Call: c.ID})
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

// summons calls those who may decide, once a clock has struck.
func (d *decision) summons() Action {
	for _, c := range d.s.pendingCalls() {
		if at := c.escalated; at.seq > 0 && !d.s.has(c.escalation()) {
			more := c.asked.Rules.Escalate
			text := fmt.Sprintf("Nobody decided for %s, so `%s` may decide too.", long(more.After), strings.Join(more.Approvers, "`, `"))
			return d.summon(c, c.escalation(), at, more.Approvers, text)
		}
		if at := c.reminded; at.seq > 0 && !d.s.has(c.reminder()) {
			return d.summon(c, c.reminder(), at, c.mayNow(), "It still waits for a decision.")
		}
	}
	return nil
}

func (d *decision) summon(c *call, name string, at stroke, who []string, why string) Post {
	text := fmt.Sprintf("Approval %d: `%s`, asked by %s. %s %s left.",
		c.asked.Number, c.Tool, c.asked.Requester.Display(), why, long(c.deadline().Sub(at.at)))
	p := d.notice(name, c.ref, text, at.seq)
	view := d.s.approval(c)
	p.Post.Text.Summons = &chat.Summons{Card: c.ref, Approvers: who, Requester: view.Requester, Exclude: view.Exclude, Quiet: view.Quiet}
	return p
}

// long is a duration of minutes or hours as people say it.
func long(d time.Duration) string {
	if d = max(d, 0).Truncate(time.Second); d >= time.Hour {
		text := fmt.Sprintf("%d h", int(d.Hours()))
		if min := int(d.Minutes()) % 60; min > 0 {
			text += fmt.Sprintf(" %d min", min)
		}
		return text
	}
	return strings.TrimSuffix(seconds(d), " 0 s")
}

// now is the time, as far as the log or the claim tell it.
func (d *decision) now() time.Time {
	if d.log.claim.Now.After(d.s.now) {
		return d.log.claim.Now
	}
	return d.s.now
}

// waitsToBegin says whether the call was approved and did not begin.
func (c *call) waitsToBegin() bool {
	return c.asked != nil && c.decided != nil && c.decided.Outcome == chat.Approved && !c.started && c.result == nil
}

// lapsed says whether an approval was given so long ago that it is to be asked for
// anew.
func (d *decision) lapsed(c *call) bool {
	return c.waitsToBegin() && c.asked.Rules.RunWithin > 0 && !d.now().Before(c.ended.Add(c.asked.Rules.RunWithin))
}

// anew opens approvals again that lapsed, or whose preview changed.
func (d *decision) anew(t *turn, last *step) (open []memory.Asked) {
	for _, c := range last.calls {
		if !d.lapsed(c) {
			if d.differs(c) {
				open = append(open, d.outdated(c, d.s.asks+len(open)+1))
			}
			continue
		}
		tool, _ := d.a.tool(c.Tool)
		again := *c.asked
		again.Number, again.Again = d.s.asks+len(open)+1, again.Again+1
		again.Requester, again.Rules, again.Shown, again.Stricter = t.requester, tool.Rules, d.shownOf(tool.Rules), false
		again.Digest, again.Marks = d.bound(c), d.marks(c)
		open = append(open, again)
	}
	return open
}
