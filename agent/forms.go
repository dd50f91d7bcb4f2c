package agent

import (
	"slices"

	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Card is the approval of a call as people see it; ok is false where there is none.
func (a *Agent) Card(entries []memory.Entry, id string) (v chat.Approval, ok bool) {
	s := thread.Read(entries)
	c := s.Calls[id]
	if c == nil || c.Asked == nil {
		return v, false
	}
	d := a.on(&Log{Thread: s})
	return *view.Card(d.taint(), c).Approval, true
}

// Refuses says why a change that came from a form is not taken, as far as that is
// plain from the log; "" where it may be. Who is in a group is looked up later.
func (a *Agent) Refuses(entries []memory.Entry, b memory.Change) string {
	s := thread.Read(entries)
	c := s.Calls[b.Call]
	if c == nil || c.Asked == nil {
		return "this approval is over"
	}
	p := thread.Proposal{Call: c, By: b.By, Args: b.Args, Form: true, Was: b.Digest}
	return a.on(&Log{Thread: s}).approval().Refuses(p, func(string) (bool, error) { return true, nil })
}

// Judged is what a person who denied a call is told of that: why it does not count, or
// that the call is denied; "" as long as nobody has judged it.
func Judged(entries []memory.Entry, call string, by chat.UserID) string {
	for _, e := range slices.Backward(entries) {
		v, ok := e.Body.(memory.Vote)
		switch {
		case !ok || v.Call != call || v.By.ID != by || v.Verdict != memory.Deny:
		case v.Counts:
			return "The call is denied."
		default:
			return Uncounted(v)
		}
	}
	return ""
}

// Uncounted says why a vote does not count to the person whose vote it is.
func Uncounted(v memory.Vote) string { return "Your reaction does not count: " + v.Reason + "." }

// NotChanged says to whoever wanted a change that there is none.
func NotChanged(why string) string { return "I did not change it: " + why + "." }
