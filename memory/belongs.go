package memory

import "nod/chat"

// Belongs is what the platform said of somebody's memberships when that was asked
// for a turn or for a call. It is an entry, since what comes of it is decided by
// the log alone; and it holds for that turn or call only.
type Belongs struct {
	Turn  uint64      `json:"turn,omitempty"` // for what they ask for in it
	Call  string      `json:"call,omitempty"` // or for the grant that it would run on
	Who   chat.UserID `json:"who"`
	Rules []string    `json:"rules"`        // group:ID, role:ID, as they were asked for
	In    []string    `json:"in,omitempty"` // those of them that they are in; in doubt none
}

// Kind implements [Body].
func (Belongs) Kind() string { return "belongs" }
