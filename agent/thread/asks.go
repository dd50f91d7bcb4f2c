package thread

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// An approval that nobody sees is a denial, so a waiting approval has clocks. One reminds
// people once; one lets more people decide. A third one runs after the approval: a call
// that could not begin for long is asked for again.
//
// Each clock strikes by an entry, and so once. Who may decide depends on the time of the
// vote, and not on the stroke: so nobody waits for a process that is down.

// Stroke is the entry by which a clock struck.
type Stroke struct {
	Seq uint64
	At  time.Time
}

func (s *Thread) takeStroke(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Notified:
		s.takeNotified(e, b)
	case memory.Reminded:
		if c := s.Calls[b.Call]; c != nil {
			c.Clocks.Reminded = Stroke{e.Seq, e.At}
		}
	case memory.Escalated:
		if c := s.Calls[b.Call]; c != nil {
			c.Clocks.Escalated = Stroke{e.Seq, e.At}
		}
	}
}

// takeAsked opens an approval, or opens it again.
func (s *Thread) takeAsked(e memory.Entry, b memory.Asked) {
	s.Approvals.Asks = max(s.Approvals.Asks+1, b.Number)
	c := s.Calls[b.Call]
	switch {
	case c == nil:
	case c.Asked == nil:
		c.Ask.Seq = e.Seq
		c.Asked, c.Ask.At, c.Ask.First, c.Ask.Before = &b, e.At, b.Digest, len(c.Edits.Made)
		c.outdate(b)
	case b.Again == c.Asked.Again+1 && (c.WaitsToBegin() || (b.Stricter || b.Restored || b.Redefined) && c.Result == nil && !c.Started):
		old := *c
		old.Ask.Past, old.Ask.Redone, old.Preview.Outdated, old.Ask.Lax = nil, b.Number, b.Changed, b.Stricter
		old.Ask.Older, old.Ask.Redefined = b.Restored, b.Redefined
		delete(s.Posts.Cards, c.Card.Ref) // a vote on the old card is not for the new one
		for _, k := range c.Copies.Cards {
			delete(s.Posts.Cards, k.Ref)
		}
		c.Asked, c.Decided = &b, nil
		c.Ask = Ask{At: e.At, Seq: e.Seq, First: b.Digest, Before: len(c.Edits.Made), Past: append(c.Ask.Past, &old)}
		c.Card = Card{ShownIn: c.Card.ShownIn}
		c.Votes = Votes{On: c.Votes.On}
		c.Clocks, c.Copies = Clocks{}, Copies{}
		c.outdate(b)
	}
}

// Nth names this time that the call is asked for.
func (c *Call) Nth() string {
	if c.Asked == nil {
		return c.ID
	}
	return memory.Nth(c.ID, c.Asked.Again)
}

// AskName names the card.
func (c *Call) AskName() string { return memory.AskName(c.Nth()) }

// Posts lists the names of all posts that asked for the call.
func (c *Call) Posts() (names []string) {
	for _, k := range append(slices.Clone(c.Ask.Past), c) {
		names = append(names, k.AskName(), k.ReminderName(), k.EscalationName())
		for n := range k.Copies.Searches {
			names = append(names, k.UnwrittenName(n))
		}
	}
	return names
}

// ReminderName names the post that reminds people.
func (c *Call) ReminderName() string { return "remind/" + c.Nth() }

// WidenedName names the edit by which the card shows that more people may decide.
func (c *Call) WidenedName() string { return "escalated/" + c.Nth() }

// UnwrittenName names the notice about people who could not be written to.
func (c *Call) UnwrittenName(n int) string { return fmt.Sprintf("unwritten/%s/%d", c.Nth(), n+1) }

// EscalatedAt says whether more people might decide at that time.
func (c *Call) EscalatedAt(at time.Time) bool {
	e := c.Asked.Rules.Escalate
	return e.After > 0 && !at.Before(c.Ask.At.Add(e.After))
}

// ApproversAt lists the rules of who might decide at that time.
func (c *Call) ApproversAt(at time.Time) []string {
	if c.EscalatedAt(at) {
		return c.Asked.Rules.AllApprovers()
	}
	return c.Asked.Rules.Approvers
}

// MayNow lists the rules of who may decide, as people were told.
func (c *Call) MayNow() []string {
	if c.Clocks.Escalated.Seq > 0 {
		return c.Asked.Rules.AllApprovers()
	}
	return c.Asked.Rules.Approvers
}

// WiderAt gives the rules at that time, where they changed since the approval began; else
// nil.
func (c *Call) WiderAt(at time.Time) *memory.Rules {
	if !c.EscalatedAt(at) {
		return nil
	}
	r := c.Asked.Rules
	r.Approvers = r.AllApprovers()
	return &r
}

// RemindAt is when people are reminded of the approval; zero when they were, or when no
// card stands yet.
func (c *Call) RemindAt() time.Time {
	return c.strikes(c.Asked.Rules.Remind, c.Clocks.Reminded)
}

// EscalateAt is when more people are told that they may decide; zero as for RemindAt.
func (c *Call) EscalateAt() time.Time {
	return c.strikes(c.Asked.Rules.Escalate.After, c.Clocks.Escalated)
}

// strikes is when a clock strikes; zero when it did, is off, or no card stands yet.
func (c *Call) strikes(after time.Duration, was Stroke) time.Time {
	if after <= 0 || was.Seq > 0 || c.Card.Ref.IsZero() {
		return time.Time{}
	}
	return c.Ask.At.Add(after)
}

// takeChanged takes the outcome of a proposal. New arguments void all votes.
func (s *Thread) takeChanged(b memory.Changed) {
	s.Approvals.Proposals = slices.DeleteFunc(s.Approvals.Proposals, func(p Proposal) bool { return p.Seq == b.Request })
	s.Became[b.Request] = b
	c := s.Calls[b.Call]
	if c == nil || c.Asked == nil || b.Refused != "" {
		return
	}
	asked := *c.Asked
	asked.Digest, asked.Marks = b.Digest, b.Marks
	c.Asked, c.Votes.Given, c.Card.ShownIn, c.Card.Hidden = &asked, nil, 0, false
	for _, k := range c.Copies.Cards {
		k.shownIn = 0
	}
	c.Edits.Was, c.digest, c.bound = append(c.Edits.Was, c.Digest()), "", ""
	c.Edits.Made = append(c.Edits.Made, b)
	c.Args = b.Args
	c.Preview.Bound = c.Preview.ByArgs[c.Digest()]
}

// Stale says whether the card did not show the latest arguments when the reaction was put
// on it. Of a reaction that was found after a pause nobody knows when that was.
func (c *Call) Stale(seq uint64, r chat.Reaction) bool {
	stood, in := c.Card.In, c.Card.ShownIn
	if k := c.CopyOn(r.On); k != nil {
		stood, in = k.In, k.shownIn
	}
	return len(c.Edits.Made) > 0 && (in == 0 || seq < in || r.Found && stood < in)
}

// RedrawnName names the edit by which a card shows the latest change.
func (c *Call) RedrawnName() string {
	return fmt.Sprintf("change/%s/%d", c.ID, len(c.Edits.Made))
}

// takeRedrawn notes that a card shows a change, or that the platform refused the edit.
func (s *Thread) takeRedrawn(seq uint64, name string, unshown bool) {
	rest, ok := strings.CutPrefix(name, "change/")
	if !ok {
		return
	}
	id, _, _ := strings.Cut(rest, "/")
	switch c := s.Calls[id]; {
	case c == nil:
	case unshown:
		c.Card.Hidden = c.Card.Hidden || c.RedrawnName() == name
	default:
		if c.RedrawnName() == name {
			c.Card.ShownIn = seq
		}
		c.noteRedrawn(seq, name)
	}
}

// EscalationName names the post that tells more people.
func (c *Call) EscalationName() string { return "escalate/" + c.Nth() }
