package thread

import (
	"fmt"
	"slices"

	"nod/memory"
)

// Incident is what the log of its thread holds of an incident.
type Incident struct {
	Seq   uint64 // of the alert that began it
	Name  string // of the alert
	Key   string
	Times int // how often it came again
	As    memory.AlertAs
	Over  bool
	held  *Message // waits for its turn
}

// Line names the post that tells of the incident, and Shown the edit with its present
// state.
func (i *Incident) Line() string { return fmt.Sprintf("alert/%d", i.Seq) }

// Waits says whether it is held back.
func (i *Incident) Waits() bool { return i.held != nil }

// Shown names the line as it is now.
func (i *Incident) Shown() string {
	return fmt.Sprintf("%s/%t-%d-%t", i.Line(), i.Waits(), i.Times, i.Over)
}

// Alert is the name of the alert that opened the turn; "" where a person did.
func (t *Turn) Alert() string {
	if t == nil {
		return ""
	}
	return t.Requester.Alert()
}

// takeAlert takes an alert. It is never a word, a vote or a reply.
func (s *Thread) takeAlert(e memory.Entry, b memory.Message) {
	m := &Message{Message: b.Message, Seq: e.Seq, At: e.At, wrote: b.Text}
	i := s.incident(e.Seq, *b.Alert)
	switch b.Alert.As {
	case memory.AlertAgain:
		i.Times = max(i.Times, b.Alert.Times)
	case memory.AlertHeld:
		i.held = m
	case memory.AlertBegins:
		if i.held != nil { // it has the text
			m.Message, m.wrote, m.heldIn, i.held = i.held.Message, i.held.wrote, i.held.Seq, nil
		}
		s.Inbox.Waiting = append(s.Inbox.Waiting, m)
	case memory.AlertResolved:
		i.Over, i.held = true, nil
		fallthrough
	case memory.AlertLate:
		m.Aside, m.Outside = true, true
		s.hearMessage(m)
	}
}

// incident finds the incident of an alert, or begins it.
func (s *Thread) incident(seq uint64, a memory.Alert) *Incident {
	at := slices.IndexFunc(s.Incidents, func(i *Incident) bool { return i.Key == a.Incident })
	switch {
	case at < 0:
		at = len(s.Incidents)
		s.Incidents = append(s.Incidents, nil)
	case a.As == memory.AlertAgain || a.As == memory.AlertResolved || a.As == memory.AlertBegins && s.Incidents[at].held != nil:
		return s.Incidents[at]
	}
	s.Incidents[at] = &Incident{Seq: seq, Key: a.Incident, As: a.As, Name: a.Name}
	return s.Incidents[at]
}

// mostBack is how many entries a log keeps for the text of an alert that was held back.
const mostBack = 4000

// textsFrom is the Seq of the first entry before a cut with the text of an alert that was
// held back, and waits still or opened a turn that stays; 0 is none.
func (s *Thread) textsFrom(cut uint64) (from uint64) {
	note := func(seq uint64) {
		if seq > 0 && seq < cut && cut-seq <= mostBack && (from == 0 || seq < from) {
			from = seq
		}
	}
	for _, i := range s.Incidents {
		if i.held != nil {
			note(i.held.Seq)
		}
	}
	for _, m := range s.Inbox.Waiting {
		note(m.heldIn)
	}
	for _, t := range s.Turns {
		for _, m := range t.Msgs {
			if t.ID >= cut || t == s.Open {
				note(m.heldIn)
			}
		}
	}
	return from
}

func (m *Message) byAlert() bool { return m.From.Alert() != "" && !m.Aside }
