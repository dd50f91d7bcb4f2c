package memory

import "nod/chat"

// What tools ask people in the middle of a call.
type (
	// Question is what a call that runs wants to know of the person for whom it
	// runs. It enters through the inbox, as does Answered where the process that
	// asks does not hold the thread.
	Question struct {
		ID    string        `json:"id"` // unique in the thread for ever
		Call  string        `json:"call"`
		By    string        `json:"by"`    // the process that waits for the answer, as its store names it
		Claim string        `json:"claim"` // under which a call that is no side effect runs: it ends with that
		Asks  chat.Question `json:"asks"`
	}

	// Answered says what came of a question, or with [chat.Unfit] that a reply was
	// none and why. Message is the Seq of the reply: it is nothing else than that.
	Answered struct {
		Question string      `json:"question"`
		Message  uint64      `json:"message,omitempty"`
		Answer   chat.Answer `json:"answer"`
		Why      string      `json:"why,omitempty"` // it does not fit
	}
)

// Kind implements Body.
func (Question) Kind() string { return "question" }

// Kind implements Body.
func (Answered) Kind() string { return "answered" }
