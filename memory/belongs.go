package memory

import "nod/chat"

// Belongs is the platform's answer about a person's memberships, for one turn or one
// call. It is an entry because decisions follow from the log alone.
type Belongs struct {
	Turn  uint64      `json:"turn,omitempty"` // for their requests in it
	Call  string      `json:"call,omitempty"` // or for the grant of this call
	Who   chat.UserID `json:"who"`
	Rules []string    `json:"rules"`        // the question: group:ID, role:ID
	In    []string    `json:"in,omitempty"` // the rules that include them; in doubt none
}
