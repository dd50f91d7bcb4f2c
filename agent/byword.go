package agent

import (
	"fmt"
	"strconv"
	"strings"

	"nod/chat"
	"nod/memory"
)

// ballot is a decision that somebody wrote as a message of its own: `y`, `n`, each
// with the number of an approval while several wait, and why not: `n 2 too late`, or
// `n too late` while one waits.
type ballot struct {
	no     bool
	number int // 0: none was given
	why    string
}

// parseBallot reads a text that may be a decision; whether it is one hangs on what
// waits for one.
func parseBallot(text string) (b ballot, ok bool) {
	if len(text) > mostCommand {
		return ballot{}, false
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch strings.ToLower(word) {
	case "y":
	case "n":
		b.no = true
	default:
		return ballot{}, false
	}
	if rest = strings.TrimSpace(rest); rest == "" {
		return b, true
	}
	number, why, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	switch {
	case b.no && err != nil:
		b.why = rest
	case err != nil || n < 1 || !b.no && why != "":
		return ballot{}, false
	default:
		b.number, b.why = n, strings.TrimSpace(why)
	}
	return b, true
}

// ballot takes a message that is a decision; ok is false when nothing waits that
// it could decide, so that it is a message like any other. A decision by word is
// the reaction that it stands for, judged like that.
func (s *state) ballot(m *message) (ok bool) {
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
		s.commands = append(s.commands, &command{message: *m, word: "which", arg: strconv.Itoa(b.number)})
		return true
	}
	emoji := c.asked.Rules.Approve
	if b.no {
		emoji = c.asked.Rules.Deny
	}
	if len(emoji) == 0 {
		return false
	}
	if b.why != "" {
		c.reasons = append(c.reasons, memory.Reason{Call: c.ID, By: m.From, Text: b.why})
	}
	s.reacts = append(s.reacts, reaction{memory.Reaction{Reaction: chat.Reaction{On: c.ref, By: m.From, Emoji: emoji[0]}}, m.seq, m.at})
	return true
}

// standingCards lists the calls whose approval people can see and decide.
func (s *state) standingCards() []*call {
	var out []*call
	for _, c := range s.pendingCalls() {
		if !c.ref.IsZero() {
			out = append(out, c)
		}
	}
	return out
}

// numbered finds the call with a number among those that wait; with none, the only
// one that there is.
func numbered(open []*call, number int) *call {
	if number == 0 && len(open) == 1 {
		return open[0]
	}
	for _, c := range open {
		if number > 0 && c.asked.Number == number {
			return c
		}
	}
	return nil
}

// which says what there is to choose from, to somebody whose word named none of it.
func (d *decision) which() string {
	open := d.s.standingCards()
	if len(open) == 0 {
		return textNoneWaits
	}
	var list []string
	for _, c := range open {
		list = append(list, fmt.Sprintf("%d %s", c.asked.Number, c.Tool))
	}
	return fmt.Sprintf("These approvals wait: %s. Answer with the number, as in `y %d`.", strings.Join(list, ", "), open[0].asked.Number)
}
