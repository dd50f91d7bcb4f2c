package approval

import (
	"slices"
	"strings"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// A store that came back older may have lost a decision, and that a call ran. A card that
// shows more than the log is believed, and never drawn again. Everything else that waited
// is asked anew on a new card, so that no old vote counts. A call whose fate nobody knows
// does not run.

const (
	textOlder   = "I was restored from an older copy"
	textUnknown = "outcome unknown: I was restored from an older copy, and this may have run after the copy was made. It is not run again by itself. Say so, and how to find out."
	// textGone is why a turn ends that had gone further before the store came back.
	textGone = "I was restored from an older copy, in which this turn was under way. Ask again if it still matters."
)

// Older settles the open turn of a store that came back older. Each entry ends the state
// that it was made for: a result ends a call, Asked makes its approval a new one, and Failed
// ends the turn.
func (k Case) Older() []memory.Body {
	t := k.Thread.Open
	if t == nil || t.Stopped != nil || t.Failed != nil {
		return nil
	}
	for _, c := range k.Thread.OpenAsked() {
		switch {
		case c.Card.Shows != "":
			return k.believe(c)
		case k.Thread.Doubtful(c) && k.valid(c):
			again := k.renewed(t, c, 1) // on a new card
			again.Restored = true
			return append(cancelled(c, textOlder), again)
		}
	}
	if k.Thread.Older.Own == 0 {
		return nil
	}
	return k.cutOff(t)
}

// cancelled ends the approval of a call that still waits.
func cancelled(c *thread.Call, why string) []memory.Body {
	if !c.Pending() {
		return nil
	}
	return []memory.Body{memory.Decided{Call: c.ID, Outcome: chat.Cancelled, Reason: why}}
}

// believe takes what a card shows for what came of its call.
func (k Case) believe(c *thread.Call) []memory.Body {
	shows := c.Card.Shows
	r := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallUnknown, Text: textUnknown}
	for outcome, state := range map[chat.Outcome]chat.CallState{chat.Denied: chat.CallDenied, chat.Expired: chat.CallExpired, chat.Cancelled: chat.CallCancelled} {
		if strings.HasPrefix(shows, string(outcome)) {
			r.State, r.Text = state, string(state)+": "+textOlder+". The card of this call says that it did not run."
		}
	}
	if strings.HasPrefix(shows, string(chat.Approved)) && strings.Contains(shows, " · done in ") {
		r.State, r.Text = chat.CallDone, "done: this ran after the copy was made from which I was restored, so its output is lost. Its card says: "+shows
	}
	return append(cancelled(c, textOlder), r)
}

// cutOff ends the parts of a turn that had gone further: effects that may have run, and a
// turn whose next model call may have been made.
func (k Case) cutOff(t *thread.Turn) (bodies []memory.Body) {
	own, last := k.Thread.Older.Own, t.LastStep()
	if last == nil {
		if t.ID < own {
			return []memory.Body{memory.Failed{Turn: t.ID, Seen: k.Thread.Last, Reason: textGone}}
		}
		return nil
	}
	if last.Seq > own || len(last.Calls) == 0 {
		return nil
	}
	over := true
	for _, c := range last.Calls {
		tool, _ := k.Tools.Find(c.Tool)
		switch {
		case c.Result != nil:
			over = over && c.Run.Heard < own
		case c.Asked == nil && !c.Started && !tool.Harmless() && tool.Risk == policy.Auto:
			bodies = append(bodies, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallUnknown, Text: textUnknown})
		default:
			over = false
		}
	}
	if len(bodies) == 0 && over {
		return []memory.Body{memory.Failed{Turn: t.ID, Seen: k.Thread.Last, Reason: textGone}}
	}
	return bodies
}

// Restored is the entry for a card that shows more than the log knows; ok is false for any
// other card. One that still asks, but for arguments that the log never had, has the call
// asked anew.
func Restored(s *thread.Thread, call string, on chat.MessageRef, shown chat.Shown) (b memory.Lost, ok bool) {
	c, shows := s.Calls[call], shown.Headline
	if c == nil || c.Card.Ref != on || shows == "" {
		return b, false
	}
	if strings.HasPrefix(shows, "Approval ") {
		return memory.Lost{Reason: "the store came back older: the card shows a change that the log lacks"}, c.Open() && !s.Doubtful(c) && !asksFor(c, shown.Digest)
	}
	if c.WaitsToBegin() && strings.HasSuffix(shows, "running") {
		return b, false
	}
	return memory.Lost{Reason: "the store came back older: the card shows more than the log", Call: c.ID, Shows: shows}, c.Open()
}

// asksFor says whether the call was ever asked for under a digest that begins so. A card
// without a readable one may show anything.
func asksFor(c *thread.Call, digest string) bool {
	if digest == "" {
		return false
	}
	return strings.HasPrefix(c.Ask.First, digest) || strings.HasPrefix(c.Asked.Digest, digest) ||
		slices.ContainsFunc(c.Edits.Made, func(b memory.Changed) bool { return strings.HasPrefix(b.Digest, digest) })
}

// ShowsDecision says whether a card's first line is that of a decided one, and not a word
// about a card that the platform refused.
func ShowsDecision(shows string) bool {
	for _, o := range []chat.Outcome{chat.Approved, chat.Denied, chat.Expired, chat.Cancelled} {
		if strings.HasPrefix(shows, string(o)) {
			return true
		}
	}
	return false
}
