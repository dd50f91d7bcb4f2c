// Package do holds the actions that a decision says, for agent/run to perform.
package do

import (
	"time"

	"nod/agent/approval"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Action is what to do next; one of the types below. The process that performs it commits
// what it names, and asks again.
type Action interface{ action() }

type (
	// Wait lets the thread go, until something arrives or, when Until is not
	// zero, until then.
	Wait struct{ Until time.Time }

	// Record commits entries; nothing else is to be done.
	Record struct{ Bodies []memory.Body }

	// Open asks, before an approval is opened, whether anybody in the thread
	// could give it, and records Asked, with a denial when nobody could.
	Open struct{ Asked []memory.Asked }

	// Judge makes the look-ups of Ask, and has [agent.Agent.Vote] judge all votes for which
	// these are enough, one by one, as long as Judge is what is to be done.
	Judge struct {
		Seq      uint64 // of the entry of the first of them
		Reaction memory.Reaction
		Ask      approval.Ask // empty: the rules tell
	}

	// Change asks about membership in Rules for the person who wants the arguments
	// of a waiting call changed, and records what [agent.Agent.Changed] makes of it.
	Change struct {
		Seq   uint64 // of the request's entry
		By    chat.User
		Rules []string // group:ID, role:ID
		// On is the card, for a change that came from a form: whoever sent it is told
		// when it is refused. A change by word is answered by a message.
		On chat.MessageRef
	}

	// Identify asks about membership in Rules for people, and records what the
	// platform said, for a turn or for a call.
	Identify struct {
		Turn  uint64
		Call  string
		Who   []chat.UserID
		Rules []string // group:ID, role:ID
	}

	// Call calls the model and records [agent.Agent.Step] of its response, behind
	// Before.
	Call struct {
		Before   []memory.Body
		Request  llm.Request
		Tools    []llm.Tool // that the prompt offers, in whatever form
		Phase    memory.StepKind
		Branch   int
		Turn     uint64
		By       chat.UserID // who opened the turn
		N        int
		Seen     uint64
		Estimate int
		Taint    memory.Taint // what the prompt holds from outside
		Instead  string       // which models failed before this one was asked, and of what
		Token    string       // of the claim, for the ids of the calls that come of it
		Whole    *Call        // of which it is the half; see [agent.Agent.Half]
	}

	// Run runs read-only calls, concurrently, and asks servers how calls stand that go on
	// there. It records their results. Stop has the servers end these.
	Run struct {
		Calls []memory.Call
		Stop  bool
	}

	// Preview runs the previews of calls, concurrently, and records [memory.Previewed] of
	// what each came to. Beside is what may be done meanwhile; nil: nothing.
	Preview struct {
		Calls  []memory.Call
		Beside Action
	}

	// Effect records Started, runs the call, and records its result.
	Effect struct {
		Call    memory.Call
		Started memory.Started
	}

	// Post posts, and records Posted behind which Then. Look says that an
	// earlier run may have posted it already.
	Post struct {
		Post chat.Post
		Look bool
		Then []memory.Body
		// Refused is recorded instead of Then when the platform will not take it.
		Refused []memory.Body
		// Free are blobs that nobody needs any more.
		Free []string
	}

	// Edit makes a post show its final state and records Posted under Key,
	// behind which Then.
	Edit struct {
		Ref  chat.MessageRef
		At   chat.ThreadID // where it stands, if not in the thread
		Post chat.Post
		Key  string
		Then []memory.Body
	}

	// AskWhy asks one person, alone, what was wrong with an answer, and records
	// Posted under Key, so that it is asked once.
	AskWhy struct {
		To  chat.User
		On  chat.MessageRef
		Key string
	}

	// List looks for what waits for a person in all conversations that they see, or for
	// the incidents of the channel that were held back, and then is the Post with that for
	// its text.
	List struct {
		Who    chat.User
		At     time.Time // when it was asked, by the store's clock
		Post   Post
		Alerts bool // incidents
	}

	// Prove finds out what the card of a call shows now. If that is more than the log
	// knows, it records what [approval.Restored] makes of it, else it notes Proof.
	Prove struct {
		Call, Proof string
		Ref         chat.MessageRef
	}

	// Mark puts the eyes on a message that has to wait, and records Seen.
	Mark struct {
		Ref     chat.MessageRef
		Message uint64
	}
)

// With [agent.Agent.Summary] the model sums up the turns that a trim leaves out, each time on
// top of the summary before. The log keeps the summary with the trim. A thread that starts
// afresh after a silence keeps a recap, made without the model, that a word brings back.
// Both are shown as data, since the words in them may be a stranger's.

// Summarise has the model sum up the turns that Cut leaves out, and records
// [agent.Agent.Summarised] of its words; of no words when the call fails.
type Summarise struct {
	Cut     memory.Trimmed
	By      chat.UserID // who opened the turn
	Request llm.Request
}

// Schedule makes a schedule, unless its author has too many: then it records Refused.
type Schedule struct {
	Made    memory.Scheduled
	Then    []memory.Body // recorded with it
	Refused []memory.Body
}

// Occur looks up the author of a schedule whose time has come, and records what
// [schedules.Occurred] makes of that.
type Occur struct{ Slot memory.Slot }

// Recall reads the channel's book into the log. It is not part of the log, and is read
// anew after each entry.
type Recall struct{}

// Jot writes a fact down or, with Forget, forgets one, and records what
// [facts.Jotted] makes of that. The driver adds the thread to Fact.
type Jot struct {
	Fact    memory.Fact
	Forget  int
	Message uint64 // Seq of the word
	Then    []memory.Body
}

// Seek finds out whom Rules mean, and records the entry that [agent.Agent.Sought] makes of it.
type Seek struct{ approval.Search }

// Copy shows the card of an approval in another place, and records Posted.
type Copy struct {
	Place string
	Post  chat.Post
	Look  bool
}

// Aside says something about a card in another place, there, and records Posted.
type Aside struct {
	At   chat.ThreadID
	Post chat.Post
	Look bool
}

func (Wait) action()      {}
func (Record) action()    {}
func (Open) action()      {}
func (Judge) action()     {}
func (Identify) action()  {}
func (Change) action()    {}
func (Call) action()      {}
func (Run) action()       {}
func (Effect) action()    {}
func (Preview) action()   {}
func (Post) action()      {}
func (Edit) action()      {}
func (AskWhy) action()    {}
func (List) action()      {}
func (Mark) action()      {}
func (Prove) action()     {}
func (Summarise) action() {}
func (Seek) action()      {}
func (Copy) action()      {}
func (Aside) action()     {}
func (Schedule) action()  {}
func (Occur) action()     {}
func (Recall) action()    {}
func (Jot) action()       {}
