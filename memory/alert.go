package memory

import (
	"time"

	"nod/chat"
)

// Alert makes a message an alert, which a program set off and no person. It stands in the
// log of the alert, as it came, and in that of its incident's thread, with As.
type Alert struct {
	Name     string        `json:"name"`
	ID       string        `json:"id"`       // of the delivery
	Incident string        `json:"incident"` // alerts with the same text are one incident
	Resolved bool          `json:"resolved,omitempty"`
	Thread   chat.ThreadID `json:"thread,omitzero"` // below the message of a bot; zero: one that is yet to begin
	As       AlertAs       `json:"as,omitempty"`
	Times    int           `json:"times,omitempty"` // how often the incident came again
}

// AlertAs says what an alert is in the thread of its incident.
type AlertAs string

// An alert opens a turn, waits until an hour has room for one, came again, was found late,
// or tells that the incident is over.
const (
	AlertBegins   AlertAs = "begins"
	AlertHeld     AlertAs = "held"
	AlertAgain    AlertAs = "again"
	AlertLate     AlertAs = "late"
	AlertResolved AlertAs = "resolved"
)

// Incidents is the state of an alert, in the log of the alert. Each takes the place of the
// one before, and of the alerts up to Done.
type Incidents struct {
	Done  uint64      `json:"done"`            // Seq of the last alert that it knows
	All   []Incident  `json:"all,omitempty"`   // that go on, or ended lately
	Begun []time.Time `json:"begun,omitempty"` // when turns began, in the last hour
}

// Incident is what alerts with the same text are about.
type Incident struct {
	Key    string        `json:"key"`
	ID     string        `json:"id"` // of the delivery that began it
	Thread chat.ThreadID `json:"thread"`
	First  time.Time     `json:"first"`
	Last   time.Time     `json:"last"` // when it came last
	Times  int           `json:"times,omitempty"`
	Held   bool          `json:"held,omitempty"`
	Over   bool          `json:"over,omitempty"`
}
