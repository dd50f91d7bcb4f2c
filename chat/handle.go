package chat

import "time"

// Handle stands for a call that goes on at its server after the server answered: as a task
// of the protocol, or until its requester answers questions. It is an entry of the log, so
// the call outlives the process.
type Handle struct {
	Key    string `json:"handle"` // for the tool alone
	Server string `json:"server"` // where the call goes on, as the configuration names it
	// Repeats says that the tool only asks how the call stands, and may do so again after a
	// crash.
	Repeats bool       `json:"repeats,omitempty"`
	Asks    []Question `json:"asks,omitempty"` // the server waits for all answers
}

// Resumed is a call with which a tool goes on.
type Resumed struct {
	Handle
	Since   time.Time // when the call's first handle came
	Answers []Answer  // to Asks, in their order
	Stop    bool      // a person ends the call
}
