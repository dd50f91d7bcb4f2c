package thread

import (
	"slices"
	"strconv"

	"nod/chat"
	"nod/memory"
)

// People can answer a card before the log says where it stands, since the platform's
// answer takes time. A word about approvals that comes in between waits. It is judged once
// no card is on its way, by the cards that stood when it was written. So no word approves
// a card that its author can't have seen.

// tooEarly says whether a message may be a word about a card that is still on its way.
func (s *Thread) tooEarly(m *Message) bool {
	number, ok := aboutCards(m.Text)
	if !ok || m.Sent.IsZero() || !s.cardsComing() {
		return false
	}
	return number == 0 || numbered(s.cardsFor(m), number) == nil
}

// cardsComing says whether an approval waits for the platform to say where its card
// stands.
func (s *Thread) cardsComing() bool {
	return slices.ContainsFunc(s.PendingCalls(), func(c *Call) bool {
		over := c.Turn.Ended || c.Turn.Stopped != nil || c.Turn.Failed != nil
		return c.Card.Ref.IsZero() && !over && !s.Has(c.AskName())
	})
}

// cardsFor lists the calls that a message can be about: their cards stood when it was
// written.
func (s *Thread) cardsFor(m *Message) []*Call {
	return slices.DeleteFunc(s.StandingCards(), func(c *Call) bool {
		return c.Card.In > m.Seq && (c.Card.Stood.IsZero() || !c.Card.Stood.Before(m.Sent))
	})
}

// judgeEarly takes the words that waited for cards, as soon as no card is on its way.
func (s *Thread) judgeEarly() {
	if len(s.Inbox.Early) == 0 {
		return
	}
	words := s.Inbox.Early
	s.Inbox.Early = nil
	for _, m := range words {
		switch {
		case m.Deleted:
		case s.tooEarly(m):
			s.Inbox.Early = append(s.Inbox.Early, m)
		default:
			s.sortMessage(m)
		}
	}
	inOrder(s.Inbox.Waiting)
	inOrder(s.Inbox.Asides)
	if s.Open != nil {
		inOrder(s.Open.Msgs)
	}
}

// StandingCards lists the calls whose approval people can see and decide.
func (s *Thread) StandingCards() []*Call {
	return slices.DeleteFunc(s.PendingCalls(), func(c *Call) bool { return c.Card.Ref.IsZero() })
}

// numbered finds the call with a number among those that wait. Without a number it is the
// only one.
func numbered(open []*Call, number int) *Call {
	if number == 0 && len(open) == 1 {
		return open[0]
	}
	return first(open, func(c *Call) bool { return number > 0 && c.Asked.Number == number })
}

// takeBallot takes a vote by word. It becomes a reaction, and is judged like one; ok is
// false when no approval waits, and the message is text.
func (s *Thread) takeBallot(m *Message) (ok bool) {
	b, ok := parseBallot(m.Text)
	if !ok {
		return false
	}
	open := s.cardsFor(m)
	c := numbered(open, b.number)
	switch {
	case len(open) == 0:
		return false
	case c == nil || m.Drawn && b.number == 0 && !b.no: // it may be a late answer to a question
		s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: "which", Arg: strconv.Itoa(b.number)})
		return true
	}
	emoji := c.Asked.Rules.Approve
	if b.no {
		emoji = c.Asked.Rules.Deny
	}
	if len(emoji) == 0 {
		return false
	}
	if b.why != "" {
		c.Votes.Reasons = append(c.Votes.Reasons, memory.Reason{Call: c.ID, By: m.From, Text: b.why})
	}
	s.Inbox.Reacts = append(s.Inbox.Reacts, Reaction{memory.Reaction{Reaction: chat.Reaction{On: c.Card.Ref, By: m.From, Emoji: emoji[0], Way: chat.ByWord}}, m.Seq, m.At})
	return true
}

// People may change the arguments of a call that waits for approval. The card then shows
// the new arguments, and all votes so far are void. Votes from before the card shows them
// count for nothing. So a call runs only as its approvers saw it.

// Proposal is the wish of a person to run a call with other arguments.
type Proposal struct {
	Seq  uint64
	Call *Call
	By   chat.User
	Args string
	Form bool   // it came from a form
	Was  string // how the digest begins of the arguments in that form
}

// takeChange takes a message that changes a call; ok is false for any other.
func (s *Thread) takeChange(m *Message) (ok bool) {
	number, object, ok := parseChange(m.Text)
	if !ok {
		return false
	}
	c := numbered(s.cardsFor(m), number)
	if c == nil {
		s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: "which"})
		return true
	}
	s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: "edit"})
	s.Approvals.Proposals = append(s.Approvals.Proposals, Proposal{Seq: m.Seq, Call: c, By: m.From, Args: object})
	return true
}

// takeProposal takes a change that came from a form.
func (s *Thread) takeProposal(seq uint64, b memory.Change) {
	if c := s.Calls[b.Call]; c != nil && c.Asked != nil {
		s.Approvals.Proposals = append(s.Approvals.Proposals, Proposal{Seq: seq, Call: c, By: b.By, Args: b.Args, Form: true, Was: b.Digest})
	}
}

// takeAllow takes the word `allow` for a vote. ok is false when no approval waits, and the
// message is text.
func (s *Thread) takeAllow(m *Message, arg string) (ok bool) {
	number, terms, ok := parseAllow(arg)
	if !ok {
		return false
	}
	c := s.waitsFor(m, number)
	if c == nil {
		return false
	}
	s.Inbox.Reacts = append(s.Inbox.Reacts, Reaction{memory.Reaction{Reaction: chat.Reaction{
		On: c.Card.Ref, By: m.From, Emoji: c.Asked.Rules.Approve[0], Grant: &terms, Way: chat.ByWord,
	}}, m.Seq, m.At})
	return true
}

// waitsFor finds the approval with a number, or the only one that waits.
func (s *Thread) waitsFor(m *Message, number int) *Call {
	waiting := slices.DeleteFunc(s.cardsFor(m), func(c *Call) bool {
		return len(c.Asked.Rules.Approve) == 0 || m.Drawn && number == 0 || number > 0 && c.Asked.Number != number
	})
	if len(waiting) != 1 {
		return nil
	}
	return waiting[0]
}
