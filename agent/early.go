package agent

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
func (s *state) tooEarly(m *message) bool {
	number, ok := aboutCards(m.Text)
	if !ok || m.Sent.IsZero() || !s.cardsComing() {
		return false
	}
	return number == 0 || numbered(s.cardsFor(m), number) == nil
}

// aboutCards says whether a text is a word about an approval, and about which; 0 is the
// one that waits.
func aboutCards(text string) (number int, ok bool) {
	if b, ok := parseBallot(text); ok {
		return b.number, true
	}
	if number, _, ok := parseChange(text); ok {
		return number, true
	}
	if word, arg, ok := parseCommand(text); ok && word == "allow" {
		number, _, ok = parseAllow(arg)
		return number, ok
	}
	return 0, false
}

// cardsComing says whether an approval waits of which it is not known yet where its card
// stands.
func (s *state) cardsComing() bool {
	return slices.ContainsFunc(s.pendingCalls(), func(c *call) bool {
		over := c.turn.ended || c.turn.stopped != nil || c.turn.failed != nil
		return c.ref.IsZero() && !over && !s.has(c.askName())
	})
}

// cardsFor lists the calls whose approval a message can be about: the card stood when it
// was written.
func (s *state) cardsFor(m *message) []*call {
	return slices.DeleteFunc(s.standingCards(), func(c *call) bool {
		return c.askedIn > m.seq && (c.stood.IsZero() || !c.stood.Before(m.Sent))
	})
}

// judgeEarly takes the words that waited, and need not any more.
func (s *state) judgeEarly() {
	if len(s.early) == 0 {
		return
	}
	words := s.early
	s.early = nil
	for _, m := range words {
		switch {
		case m.deleted:
		case s.tooEarly(m):
			s.early = append(s.early, m)
		default:
			s.takes(m)
		}
	}
	inOrder := func(a, b *message) int { return cmp.Compare(a.seq, b.seq) }
	slices.SortStableFunc(s.waiting, inOrder)
	slices.SortStableFunc(s.asides, inOrder)
	if s.open != nil {
		slices.SortStableFunc(s.open.msgs, inOrder)
	}
}
