package incidents

import (
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// Deed is what is to be done next: the message, if there is one, goes into the thread of
// the incident, and then the state into the log of the alert.
type Deed struct {
	State memory.Incidents
	At    int // of the incident in the state; its thread may be yet to begin
	Put   *memory.Message
	Since uint64 // Seq of the alert that it comes of
}

// Bounds of what a state keeps.
const (
	window   = time.Hour      // in which turns are counted
	forget   = 72 * time.Hour // after which nobody waits for the end of an incident
	mostKept = 2000
)

// Next says by the log of an alert what is to be done; nil is nothing until wake, which may
// be never.
func (r Rules) Next(log []memory.Entry, now time.Time) (d *Deed, wake time.Time) {
	st, came := read(log)
	st = r.aged(st, now)
	if len(came) > 0 {
		return r.take(st, came[0], now), wake
	}
	i := oldestHeld(st.All)
	if i < 0 {
		return nil, wake
	}
	if len(st.Begun) >= r.Most {
		return nil, st.Begun[len(st.Begun)-r.Most].Add(window)
	}
	st.All[i].Held = false
	st.Begun = append(st.Begun, now)
	return r.deed(st, i, memory.Alert{ID: st.All[i].ID, As: memory.AlertBegins}, r.said(""), 0), wake
}

// Held lists the incidents that wait.
func Held(log []memory.Entry) []memory.Incident {
	st, _ := read(log)
	return slices.DeleteFunc(slices.Clone(st.All), func(i memory.Incident) bool { return !i.Held })
}

// read gives the state, and the alerts that it does not know.
func read(log []memory.Entry) (st memory.Incidents, came []memory.Entry) {
	for _, e := range log {
		switch b := e.Body.(type) {
		case memory.Incidents:
			st = b
		case memory.Message:
			came = append(came, e)
		}
	}
	came = slices.DeleteFunc(came, func(e memory.Entry) bool { return e.Seq <= st.Done })
	st.All, st.Begun = slices.Clone(st.All), slices.Clone(st.Begun)
	return st, came
}

// aged leaves out of a state what counts for nothing any more.
func (r Rules) aged(st memory.Incidents, now time.Time) memory.Incidents {
	st.Begun = slices.DeleteFunc(st.Begun, func(at time.Time) bool { return now.Sub(at) >= window })
	st.All = slices.DeleteFunc(st.All, func(i memory.Incident) bool {
		age := now.Sub(i.Last)
		return !i.Held && (i.Over && age > r.Quiet || age > max(forget, r.Quiet))
	})
	for i := 0; len(st.All) > mostKept && i < len(st.All); {
		if st.All[i].Held {
			i++
			continue
		}
		st.All = slices.Delete(st.All, i, i+1)
	}
	return st
}

func oldestHeld(all []memory.Incident) int {
	return slices.IndexFunc(all, func(i memory.Incident) bool { return i.Held }) // they stand in the order in which they came
}

// take says what becomes of an alert.
func (r Rules) take(st memory.Incidents, e memory.Entry, now time.Time) *Deed {
	m, _ := e.Body.(memory.Message)
	st.Done = e.Seq
	if m.Alert == nil {
		return &Deed{State: st}
	}
	a := *m.Alert
	at := slices.IndexFunc(st.All, func(i memory.Incident) bool {
		return i.Key == a.Incident || a.Resolved && a.Incident == "" && !i.Over && r.tellsOf(m.Text, i.Key)
	})
	switch {
	case a.Resolved && (at < 0 || st.All[at].Over):
		return &Deed{State: st}
	case a.Resolved:
		st.All[at].Over, st.All[at].Held = true, false
		a.As = memory.AlertResolved
		return r.deed(st, at, a, chat.Message{From: chat.AlertUser(r.Name), Text: Body(m.Text), Sent: m.Sent}, e.Seq)
	case at >= 0 && (st.All[at].Held || e.At.Sub(st.All[at].Last) < r.Quiet):
		st.All[at].Last, st.All[at].Over = e.At, false
		st.All[at].Times++
		a.As, a.Times = memory.AlertAgain, st.All[at].Times
		return r.deed(st, at, a, chat.Message{From: chat.AlertUser(r.Name), Sent: m.Sent}, e.Seq)
	case at >= 0:
		st.All = slices.Delete(st.All, at, at+1)
	}
	i := memory.Incident{Key: a.Incident, ID: a.ID, Thread: a.Thread, First: e.At, Last: e.At}
	sent := e.At
	if !m.Sent.IsZero() {
		sent = m.Sent
	}
	switch {
	case now.Sub(sent) > r.Late:
		a.As = memory.AlertLate
	case len(st.Begun) < r.Most && oldestHeld(st.All) < 0:
		a.As = memory.AlertBegins
		st.Begun = append(st.Begun, now)
	default:
		a.As, i.Held = memory.AlertHeld, true
	}
	st.All = append(st.All, i)
	said := r.said(m.Text)
	said.Ref, said.Sent = m.Ref, m.Sent
	if a.As == memory.AlertLate {
		said.Text, said.Quoted = Body(m.Text), nil
	}
	return r.deed(st, len(st.All)-1, a, said, e.Seq)
}

// said is the question of an alert, with its text as content from outside.
func (r Rules) said(body string) chat.Message {
	m := chat.Message{From: chat.AlertUser(r.Name), Text: r.Ask}
	if body != "" {
		m.Quoted = []chat.Quote{{From: m.From, Text: Body(body)}}
	}
	return m
}

func (r Rules) deed(st memory.Incidents, at int, a memory.Alert, said chat.Message, since uint64) *Deed {
	a.Name, a.Incident, a.Thread = r.Name, st.All[at].Key, chat.ThreadID{}
	return &Deed{State: st, At: at, Put: &memory.Message{Message: said, Alert: &a}, Since: since}
}
