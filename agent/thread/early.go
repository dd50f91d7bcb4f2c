package thread

import (
	"cmp"
	"slices"
)

// A card stands, and can be answered, before it is noted that it does: the platform's
// answer has a way to go, and the emoji are put. A word about it that comes in between
// waits until no card is on its way any more, and is then judged by those that stood when
// it was written. Nobody approves by a word what they can't have seen.

// tooEarly says whether a message is a word about approvals that can't be judged yet,
// while a card is on its way that it may mean.
func (s *Thread) tooEarly(m *Message) bool {
	number, ok := aboutCards(m.Text)
	if !ok || m.Sent.IsZero() || !s.cardsComing() {
		return false
	}
	return number == 0 || numbered(s.cardsFor(m), number) == nil
}

// cardsComing says whether an approval waits of which it is not known yet where its card
// stands.
func (s *Thread) cardsComing() bool {
	return slices.ContainsFunc(s.PendingCalls(), func(c *Call) bool {
		over := c.Turn.Ended || c.Turn.Stopped != nil || c.Turn.Failed != nil
		return c.Card.Ref.IsZero() && !over && !s.Has(c.AskName())
	})
}

// cardsFor lists the calls whose approval a message can be about: the card stood when it
// was written.
func (s *Thread) cardsFor(m *Message) []*Call {
	return slices.DeleteFunc(s.StandingCards(), func(c *Call) bool {
		return c.Card.In > m.Seq && (c.Card.Stood.IsZero() || !c.Card.Stood.Before(m.Sent))
	})
}

// judgeEarly takes the words that waited, and need not any more.
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
	inOrder := func(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) }
	slices.SortStableFunc(s.Inbox.Waiting, inOrder)
	slices.SortStableFunc(s.Inbox.Asides, inOrder)
	if s.Open != nil {
		slices.SortStableFunc(s.Open.Msgs, inOrder)
	}
}
