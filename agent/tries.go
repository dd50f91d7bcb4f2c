package agent

import (
	"fmt"
	"slices"

	"nod/agent/speak"
	"nod/chat"
	"nod/memory"
)

// Whoever asked for an answer may ask for another try of it: a turn of its own, to
// which nothing new was said. What the tries before it did stays done, and the model
// sees it. Such a turn remembers who spoke in the first one, since that may be left
// out of the log by then: what they may not approve, or not ask for, holds here too.

// again opens another try of the last answer.
func (d *decision) again() Action {
	if d.s.open != nil || len(d.s.waiting) > 0 {
		return nil
	}
	for _, r := range d.s.reacts {
		if t, why := d.s.retried(r.Reaction); t != nil && why == "" {
			return Record{[]memory.Body{memory.Opened{
				Turn: r.seq, Name: d.name(r.seq, r.On), Requester: t.requester, Strategy: t.strategy, Again: t.id,
				Try: t.tries + 2, Voices: t.senders(d.s.last), To: t.replyTo(),
			}}}
		}
	}
	return nil
}

// retried is the turn of which a reaction asks for another try, and why there is
// none; no turn where the reaction asks for nothing of that kind.
func (s *state) retried(r memory.Reaction) (t *turn, why string) {
	if r.Emoji != chat.EmojiRetry || r.Removed || r.By.Bot {
		return nil, ""
	}
	t = s.answeredBy(r.On)
	switch {
	case t == nil:
		return nil, ""
	case r.By.Barred != "":
		return t, r.By.Barred
	case r.By.ID != t.requester.ID:
		return t, "only " + t.requester.Display() + ", who asked, can have this tried again"
	case t != s.turns[len(s.turns)-1]:
		return t, "there is something newer in this thread; ask again there"
	}
	return t, ""
}

// try takes what the entry that opens a turn says of earlier tries.
func (t *turn) try(b memory.Opened) {
	t.again, t.voices, t.to = b.Again, b.Voices, b.To
	t.tries = max(b.Try-1, 0)
}

// retryNote tells the model what a turn without a new message is for. A turn that
// reflects is told by that, unless nothing came of it.
func (t *turn) retryNote() []speak.Item {
	if t.again == 0 || t.from != nil {
		return nil
	}
	if reflected := t.of(memory.ReflectStep); Strategy(t.strategy) == Reflexion && (len(reflected) == 0 || !reflected[0].Pass) {
		return nil
	}
	return []speak.Item{{Said: fmt.Sprintf(textRetry, t.requester.Display())}}
}

// answerText is the answer of a turn as people read it.
func (s *state) answerText(t *turn) *chat.Text {
	out := &chat.Text{Markdown: t.draft().shown()}
	if t.tries == 0 {
		return out
	}
	head := fmt.Sprintf("**Try %d**", t.tries+1)
	if t.origin() != nil {
		head += " · " + t.ran(code)
	}
	out.Markdown = head + "\n\n" + out.Markdown
	if t.replyTo() == t.to {
		out.Waits = &chat.Waiter{By: t.requester, Since: t.at}
	}
	if first := s.turn(t.again); first != nil && !s.posted[first.answerName()].IsZero() {
		out.Earlier = &chat.Earlier{Ref: s.posted[first.answerName()], Try: t.tries, Markdown: first.draft().shown()}
	}
	return out
}

// spoke says whether somebody's message is in the turn, or in a try before it.
func (t *turn) spoke(who chat.UserID) bool {
	return slices.ContainsFunc(t.msgs, func(m *message) bool { return m.From.ID == who }) ||
		slices.ContainsFunc(t.voices, func(u chat.User) bool { return u.ID == who })
}
