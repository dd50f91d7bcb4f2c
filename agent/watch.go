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
	t := s.open
	switch {
	case t == nil && len(s.waiting) == 0:
		return Watched{}, false
	case t == nil:
		m := s.waiting[0]
		return Watched{Requester: m.From, Since: m.at, Status: "Thinking"}, true
	}
	w = Watched{Requester: t.requester, Since: t.at, Status: s.status(t), Calls: len(t.steps)}
	if msgs := t.live(); len(msgs) > 0 {
		w.Since = msgs[0].at
	}
	for _, st := range t.steps {
		for _, c := range st.calls {
			if !c.pending() {
				continue
			}
			a := Asking{Approval: s.approval(c), At: c.askedAt}
			for _, v := range c.standing() {
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
	if t := log.state.open; t != nil {
		next = t.phase()
	}
	return a.Anew(log, next.kind, next.branch)
}
