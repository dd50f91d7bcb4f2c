package chat

import "time"

// Question is a tool maker's question to the requester in the middle of a call. A
// stranger wrote all of it except From.
type Question struct {
	From   string `json:"from"`   // who asks, as the configuration names it
	Text   string `json:"text"`   // their question
	Schema string `json:"schema"` // a JSON Schema of plain fields, see chat/question
}

// Answer is the outcome of a question. By answered in the words Text. If it was
// Accepted, Values are the fields as a JSON object.
type Answer struct {
	How    How    `json:"how"`
	By     User   `json:"by,omitzero"`
	Text   string `json:"text,omitempty"`
	Values string `json:"values,omitempty"`
}

// How is the way a question ended.
type How string

// The ways. A reply that is Unfit ends nothing: the person is told, and may try
// again.
const (
	Accepted   How = "accepted"
	Declined   How = "declined"   // by the person
	Unanswered How = "unanswered" // in time
	Dropped    How = "dropped"    // nobody waits for an answer any more
	Unfit      How = "unfit"
)

// AnswerWithin is how long a question waits for its answer, and MostQuestions how
// many one call may ask.
const (
	AnswerWithin  = 5 * time.Minute
	MostQuestions = 3
)
