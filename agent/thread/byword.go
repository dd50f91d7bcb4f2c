package thread

import (
	"slices"
	"strconv"

	"nod/chat"
	"nod/memory"
)

// takeBallot takes a message that is a decision; ok is false when nothing waits that
// it could decide, so that it is a message like any other. A decision by word is
// the reaction that it stands for, judged like that.
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
	case c == nil:
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
	s.Inbox.Reacts = append(s.Inbox.Reacts, Reaction{memory.Reaction{Reaction: chat.Reaction{On: c.Card.Ref, By: m.From, Emoji: emoji[0]}}, m.Seq, m.At})
	return true
}

// StandingCards lists the calls whose approval people can see and decide.
func (s *Thread) StandingCards() []*Call {
	var out []*Call
	for _, c := range s.PendingCalls() {
		if !c.Card.Ref.IsZero() {
			out = append(out, c)
		}
	}
	return out
}

// numbered finds the call with a number among those that wait; with none, the only
// one that there is.
func numbered(open []*Call, number int) *Call {
	if number == 0 && len(open) == 1 {
		return open[0]
	}
	for _, c := range open {
		if number > 0 && c.Asked.Number == number {
			return c
		}
	}
	return nil
}

// People may change the arguments of a call that waits for approval. Then the
// card shows what would run now, all votes so far are void, and those that come
// before the card shows it count for nothing either: what runs is what was shown
// to whoever approved it.

// Proposal is a request to let a call run with other arguments.
type Proposal struct {
	Seq  uint64
	Call *Call
	By   chat.User
	Args string
	Form bool   // it came from one
	Was  string // how the digest of what that form was filled with begins
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

// takeAllow takes the word `allow` for a vote on the approval that it names. ok is
// false where none waits: then it is a text like others.
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
		On: c.Card.Ref, By: m.From, Emoji: c.Asked.Rules.Approve[0], Grant: &terms,
	}}, m.Seq, m.At})
	return true
}

// waitsFor finds the approval with a number, or the only one that waits.
func (s *Thread) waitsFor(m *Message, number int) *Call {
	waiting := slices.DeleteFunc(s.cardsFor(m), func(c *Call) bool {
		return len(c.Asked.Rules.Approve) == 0 || number > 0 && c.Asked.Number != number
	})
	if len(waiting) != 1 {
		return nil
	}
	return waiting[0]
}
