package memory

import "nod/chat"

// Questions of tools in the middle of a call.
type (
	// Question is a running call's question to its requester. It enters through the
	// inbox. So does Answered, if the asking process does not hold the thread.
	Question struct {
		ID    string        `json:"id"` // unique in the thread for ever
		Call  string        `json:"call"`
		By    string        `json:"by"`    // the process that waits for the answer, as its store names it
		Claim string        `json:"claim"` // under which a call that is no side effect runs: it ends with that
		Asks  chat.Question `json:"asks"`
	}

	// Answered is the outcome of a question; [chat.Unfit] says that a reply did not fit,
	// and why. Message is the Seq of the reply, which has no other meaning.
	Answered struct {
		Question string      `json:"question"`
		Message  uint64      `json:"message,omitempty"`
		Answer   chat.Answer `json:"answer"`
		Why      string      `json:"why,omitempty"` // it does not fit
	}
)

// Held says that a running call goes on at its server. [Started] may follow: a process goes
// on with the call, and the handle counts no more.
type Held struct {
	Call   string      `json:"call"`
	Handle chat.Handle `json:"held"`
}
