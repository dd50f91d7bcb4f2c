package agent

import (
	"time"

	"nod/chat"
)

// Watched is a turn that is not over, for whoever watches nod at work.
type Watched struct {
	Requester chat.User
	Since     time.Time // when the message came that it answers
	Status    string    // the current step in a few words, as the steps message says it
	Calls     int       // of the model, so far
	Asks      []Asking
}

// Asking is an approval that waits.
type Asking struct {
	chat.Approval
	At       time.Time // since when
	Approved []chat.User
}

// Watched gives the turn that is not over; ok is false where there is none. A
// message that the model is shown for the first time is a turn already.
func (l *Log) Watched() (w Watched, ok bool) {
	s := l.state
	t := s.Open
	switch {
	case t == nil && len(s.Inbox.Waiting) == 0:
		return Watched{}, false
	case t == nil:
		m := s.Inbox.Waiting[0]
		return Watched{Requester: m.From, Since: m.At, Status: "Thinking"}, true
	}
	w = Watched{Requester: t.Requester, Since: t.At, Status: viewStatus(s, t), Calls: len(t.Steps)}
	if msgs := t.Live(); len(msgs) > 0 {
		w.Since = msgs[0].At
	}
	for _, st := range t.Steps {
		for _, c := range st.Calls {
			if !c.Pending() {
				continue
			}
			a := Asking{Approval: viewApproval(s, c), At: c.Ask.At}
			for _, v := range c.Standing() {
				a.Approved = append(a.Approved, v.By)
			}
			w.Asks = append(w.Asks, a)
		}
	}
	return w, true
}

// Prompt is what the model would be shown at the end of this log; ok is false where
// no turn runs or is about to.
func (a *Agent) Prompt(log *Log) (c Call, ok bool) {
	if c, ok := a.Next(log).(Call); ok {
		return c, true
	}
	var next phase
	if t := log.state.Open; t != nil {
		next = nextPhase(t)
	}
	return a.Anew(log, next.kind, next.branch)
}
