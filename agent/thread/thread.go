// Package thread reads a thread's log, once and from front to back ([Read],
// [Thread.Add]), into what all decisions are made on: turns, steps, calls, approvals,
// messages, artifacts, questions.
//
// It holds data and answers questions about it. It decides nothing, knows no
// configuration, and has no words for people. Names of posts are made here, since the
// log says by name which posts there are.
package thread

import (
	"time"

	"nod/chat"
	"nod/memory"
)

// Thread is a log as it was read. One goroutine at a time uses it.
type Thread struct {
	Last   uint64    // Seq of the last entry
	Now    time.Time // when that entered the log: it is about this late
	Active time.Time // when somebody last wrote or the bot last did something
	Broken *Trouble  // the first entry that can't be read
	Span   Span
	Older  Older

	Turns   []*Turn // all that are in the log, in order
	Open    *Turn   // the one that runs, if any
	Folding []*Turn // that ended before their steps were folded
	Calls   map[string]*Call
	Became  map[uint64]memory.Body // what came of words and forms, by their Seq

	Inbox       Inbox
	Posts       Posts
	Folk        Folk
	Approvals   Approvals
	Corrections []*Correction // that were not said yet, or were

	Artifacts []*Artifact
	Incidents []*Incident
	Questions []*Question // of tools to people, of which something is left to do

	base     uint64 // Seq of the first entry that was read
	Kept     int    // entries since then
	Trim     memory.Trimmed
	Recalled bool // the recap was brought back

	Facts []memory.FactRef // that prompts show
}

// Span is the platform's time of the messages.
type Span struct {
	Horizon time.Time // nothing that was sent up to here counts
	First   time.Time // of the earliest message
	Last    time.Time // of the latest message
}

// Inbox holds what people did that no turn has taken up yet.
type Inbox struct {
	Waiting  []*Message
	Asides   []*Message // messages between people since the last turn
	Early    []*Message // words that wait for cards
	Commands []*Command
	Forgot   []Forgotten
	Halts    []Halt
	Reacts   []Reaction // that are not judged yet
}

// Posts are the posts that the log says were made.
type Posts struct {
	Refs    map[string]chat.MessageRef // by the name of the post; zero: it never will be made
	Refused []Refusal
	Cards   map[chat.MessageRef]*Call // by the message of the approval
}

// Folk are the people of the thread, and what they settled for all of it.
type Folk struct {
	People  map[chat.UserID]bool // who wrote in this thread
	Callers []chat.UserID        // who of them called the bot
	Muted   bool
	Bots    int             // turns in a row that only bots asked for
	Off     map[string]bool // tools that people switched off here
	Models  []string        // that people chose here by name, the last one first

	Schedules []*Schedule
	Scheduled int             // how many there were so far
	Switched  map[uint64]bool // the words that ended or resumed one, by their Seq
	Lines     []Line          // times that came, and that people were not told yet
	Worked    time.Time       // when the latest turn ended
}

// Approvals is what the log holds of approvals beside the calls themselves.
type Approvals struct {
	Asks      int        // approvals so far
	Proposals []Proposal // changes of calls that were not judged yet
	Grants    []*Grant
	Revokes   []memory.Revoked // that are not noted yet
}

// Older says that the store came back older than what was done.
type Older struct {
	Seq  uint64 // of the last entry that says so
	Own  uint64 // likewise, that this thread had gone further
	Told []Restoring
}

// Restoring is an entry by which people are told that the store came back older.
type Restoring struct {
	memory.Restored
	Seq uint64
}

// Trouble is an entry that can't be read, and without which the state of the thread
// is unknown.
type Trouble struct{ Seq uint64 }

// Correction is a result that came after its outcome was called unknown.
type Correction struct {
	memory.Result
	Seq uint64
}

// Refusal is a post that the platform does not take.
type Refusal struct {
	Name, Why string
	Seq       uint64
	At        time.Time
}

// Forgotten is the entry that erased the thread.
type Forgotten struct {
	memory.Forgot
	Seq uint64
}

// Halt is a button that stops the turn.
type Halt struct {
	By  chat.User
	Seq uint64
}

// Reaction is a reaction, with its entry.
type Reaction struct {
	memory.Reaction
	Seq uint64
	At  time.Time
}

// Turn is one exchange: a message, the steps that followed it, and the answer.
type Turn struct {
	ID        uint64
	Name      string // in the names of posts
	Requester chat.User
	At        time.Time
	Over      time.Time // when it was stopped, or failed
	Strategy  string
	Slot      *Occasion        // the time of a schedule by which it began
	Facts     []memory.FactRef // that its prompts show
	Msgs      []*Message
	Steps     []*Step
	Stopped   *memory.Stopped
	Failed    *memory.Failed
	Ended     bool
	Opinions  []Opinion                      // of its answer
	Belongs   map[chat.UserID]memory.Belongs // which groups its people are in

	Again  uint64          // the turn that this one tries to do better
	before *Turn           // the same, where the log still has it
	From   *Call           // of an earlier turn, that a person ran again: this one goes on from there
	Stays  []*Call         // calls that had run from there on
	Tries  int             // how many tries came before this one
	Voices []chat.User     // who spoke in those
	To     chat.MessageRef // the message that the first of those answered
}

// Step is one completion of the model, or the call of a person.
type Step struct {
	memory.Step
	Seq   uint64
	At    time.Time
	Calls []*Call
	By    *chat.User // who made it, when that was no model
}

// New is the thread of an empty log.
func New() *Thread {
	return &Thread{
		Calls:  map[string]*Call{},
		Became: map[uint64]memory.Body{},
		Posts:  Posts{Refs: map[string]chat.MessageRef{}, Cards: map[chat.MessageRef]*Call{}},
		Folk:   Folk{People: map[chat.UserID]bool{}, Off: map[string]bool{}, Switched: map[uint64]bool{}},
	}
}

// Read reads a log.
func Read(entries []memory.Entry) *Thread {
	t := New()
	for _, e := range entries {
		t.Add(e)
	}
	return t
}
