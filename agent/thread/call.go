package thread

import (
	"time"

	"nod/chat"
	"nod/memory"
)

// Call is a call of a tool, from the completion that holds it to its result.
type Call struct {
	memory.Call
	Turn *Turn
	Step *Step

	Asked   *memory.Asked // as it stands: changes of the arguments are in it
	Decided *memory.Decided
	Started bool
	Result  *memory.Result

	Ask     Ask
	Card    Card
	Votes   Votes
	Edits   Edits
	Copies  Copies
	Clocks  Clocks
	Run     Run
	Use     Use
	Preview Previews

	bound  string // see [Call.Bind]
	digest string // of tool and arguments, when it was computed
}

// Ask is one time that a call was asked for. A call is asked for again when an approval
// lapsed, the rules became stricter, or its tool or its preview changed.
type Ask struct {
	At     time.Time
	Seq    uint64  // of the entry
	First  string  // digest of the arguments at that time, before changes
	Before int     // how many changes came before it
	Past   []*Call // the call as it was at earlier times

	Deserted bool // everybody who could decide has left

	// In the call as it was:
	Redone    int  // the number of the approval that took its place
	Lax       bool // the reason: the rules became stricter
	Older     bool // the reason: the store came back older
	Redefined bool // the reason: the tool changed
}

// Card is the message in the thread that shows the approval.
type Card struct {
	Ref     chat.MessageRef
	Shows   string    // what came of the call, as the card says and the log does not; "": nothing more
	In      uint64    // Seq of the entry that says where it stands
	Stood   time.Time // since when it stands, where the platform says so
	ShownIn uint64    // Seq of the edit by which it shows the latest arguments
	Hidden  bool      // the platform did not take that edit
}

// Votes are the votes on an approval.
type Votes struct {
	Given   []memory.Vote
	On      map[uint64]chat.MessageRef // the card of each, where there are several, by the Seq of the reaction
	Ended   time.Time                  // when it was decided
	Button  bool                       // it was denied by a button, so that a reason may come
	Reasons []memory.Reason            // people give them who denied the call, or say that they did
}

// Edits are the changes of the arguments by people.
type Edits struct {
	Made []memory.Changed
	Was  []string // digests of the arguments before each
}

// Copies are the cards in other places.
type Copies struct {
	Places   []string          // where the card is to stand too
	Notified map[string]uint64 // the same, and Seq of the entry that says so
	Cards    []*Copy           // where it does
	Searches []Search          // for those who get it in direct conversations
	Missed   map[string]string // places where it can't stand, and why
}

// Clocks says which clocks of an approval struck.
type Clocks struct{ Reminded, Escalated Stroke }

// Run is how a call ran.
type Run struct {
	By     string         // the process that runs it
	Within time.Duration  // how long it may take
	Over   time.Time      // when its result came
	Heard  uint64         // Seq of its result
	Late   *memory.Result // the real outcome, after it was called unknown

	Handle *chat.Handle // the call goes on at its server
	Since  time.Time    // when its first handle came
	Keys   []string     // of all its handles
}

// Use is the use of a grant by a call.
type Use struct {
	Grant      *Grant                         // under which it may run
	Spent      bool                           // its grant did not hold any more
	Givers     map[chat.UserID]memory.Belongs // which groups the people are in who gave the grant
	Identified time.Time                      // when that was looked up
}

// Previews says what a call would do.
type Previews struct {
	ByArgs   map[string]*Preview // by the digest of the arguments that they are of
	Edits    map[chat.UserID]int // how many were run for the changes that people asked for
	Bound    *Preview            // that the approval is bound to
	Check    *Preview            // that was made right before the effect
	Anew     int                 // how often the call was asked for again since its preview changed
	Outdated bool                // of the call as it was: the reason why it was asked for again
}
