package memory

import (
	"time"

	"nod/chat"
	"nod/chat/when"
)

// Entries of schedules.
type (
	// Scheduled makes a schedule of a plan, for By, by a word or a call.
	Scheduled struct {
		Number  int       `json:"number"` // counts the schedules of the thread
		By      chat.User `json:"by"`
		Plan    when.Plan `json:"plan"`
		Message uint64    `json:"message,omitempty"` // Seq of the word
		Call    string    `json:"call,omitempty"`
		// Refused says why there is none after all; then Number is 0.
		Refused string `json:"refused,omitempty"`
	}

	// Slot is a time of a schedule, as it came. It enters the log before anything begins,
	// so a time has at most one turn. It holds all that the turn needs, since the log may
	// lose the schedule.
	Slot struct {
		Number int       `json:"number"`
		Of     uint64    `json:"of"` // Seq of [Scheduled]
		At     time.Time `json:"at"` // as it was planned
		By     chat.User `json:"by"`
		Plan   when.Plan `json:"plan"`
		// Skipped is how many times did not begin: At is the last of them, and From the
		// first. 0: it begins.
		Skipped int       `json:"skipped,omitempty"`
		From    time.Time `json:"from,omitzero"`
		Why     string    `json:"why,omitempty"` // it was skipped, or is late
	}

	// Unscheduled ends a schedule, or with Paused has it wait for a word.
	Unscheduled struct {
		Number int       `json:"number"`
		Author chat.User `json:"author,omitzero"`
		By     chat.User `json:"by,omitzero"` // who said so; nobody: it happened by itself
		Paused bool      `json:"paused,omitempty"`
		Why    string    `json:"why,omitempty"`
	}

	// Standing is a schedule in a [Trimmed], as it was then.
	Standing struct {
		Scheduled
		Seq    uint64    `json:"seq"`
		Last   time.Time `json:"last"` // the latest time that came
		Paused bool      `json:"paused,omitempty"`
		Bad    int       `json:"bad,omitempty"` // turns in a row that came to nothing
	}
)
