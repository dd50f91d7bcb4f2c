package memory

import "nod/chat"

// Calls that people make themselves.
type (
	// Order asks for a call of a tool, from a form rather than a word. It enters
	// through the inbox, and is checked, asked for and run as if the model had made
	// the call.
	Order struct {
		By   chat.User `json:"by"`
		Tool string    `json:"tool"`
		Args string    `json:"args"`         // a JSON object
		Of   string    `json:"of,omitempty"` // the call that is run again with these arguments
	}

	// Ran is a step that a person made: one call, and no completion. It is the first
	// of its turn.
	Ran struct {
		Turn uint64    `json:"turn"`
		Seen uint64    `json:"seen"` // last entry that was in the log by then
		By   chat.User `json:"by"`
		Call Call      `json:"call"`
	}
)
