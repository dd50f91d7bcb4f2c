package agent

import (
	"fmt"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Whoever asked for an answer may ask for another try of it: a turn of its own, to
// which nothing new was said. What the tries before it did stays done, and the model
// sees it. Such a turn remembers who spoke in the first one, since that may be left
// out of the log by then: what they may not approve, or not ask for, holds here too.

// again opens another try of the last answer.
func (d *decision) again() Action {
	if d.s.Open != nil || len(d.s.Inbox.Waiting) > 0 {
		return nil
	}
	for _, r := range d.s.Inbox.Reacts {
		if t, why := retried(d.s, r.Reaction); t != nil && why == "" {
			return Record{[]memory.Body{memory.Opened{
				Turn: r.Seq, Name: d.name(r.Seq, r.On), Requester: t.Requester, Strategy: t.Strategy, Again: t.ID,
				Try: t.Tries + 2, Voices: t.Senders(d.s.Last), To: t.ReplyTo(),
			}}}
		}
	}
	return nil
}

// retried is the turn of which a reaction asks for another try, and why there is
// none; no turn where the reaction asks for nothing of that kind.
func retried(s *thread.Thread, r memory.Reaction) (t *thread.Turn, why string) {
	if r.Emoji != chat.EmojiRetry || r.Removed || r.By.Bot {
		return nil, ""
	}
	t = s.AnsweredBy(r.On)
	switch {
	case t == nil:
		return nil, ""
	case r.By.Barred != "":
		return t, r.By.Barred
	case r.By.ID != t.Requester.ID:
		return t, "only " + t.Requester.Display() + ", who asked, can have this tried again"
	case t != s.Turns[len(s.Turns)-1]:
		return t, "there is something newer in this thread; ask again there"
	}
	return t, ""
}

// retryNote tells the model what a turn without a new message is for. A turn that
// reflects is told by that, unless nothing came of it.
func retryNote(t *thread.Turn) []speak.Item {
	if t.Again == 0 || t.From != nil {
		return nil
	}
	if reflected := t.Of(memory.ReflectStep); Strategy(t.Strategy) == Reflexion && (len(reflected) == 0 || !reflected[0].Pass) {
		return nil
	}
	return []speak.Item{{Said: fmt.Sprintf(textRetry, t.Requester.Display())}}
}

// answerText is the answer of a turn as people read it.
func answerText(s *thread.Thread, t *thread.Turn) *chat.Text {
	out := &chat.Text{Markdown: shownAnswer(t.Draft())}
	if t.Tries == 0 {
		return out
	}
	head := fmt.Sprintf("**Try %d**", t.Tries+1)
	if t.Origin() != nil {
		head += " · " + ranText(t, code)
	}
	out.Markdown = head + "\n\n" + out.Markdown
	if t.ReplyTo() == t.To {
		out.Waits = &chat.Waiter{By: t.Requester, Since: t.At}
	}
	if first := s.Turn(t.Again); first != nil && !s.Posts.Refs[first.AnswerName()].IsZero() {
		out.Earlier = &chat.Earlier{Ref: s.Posts.Refs[first.AnswerName()], Try: t.Tries, Markdown: shownAnswer(first.Draft())}
	}
	return out
}
