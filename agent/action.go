package agent

import (
	"slices"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Log is what Next decides on: the entries of a thread, read once from front to
// back, so that a decision costs what is new and not what is old. Only entries
// are ever put into it. One goroutine at a time uses it.
type Log struct {
	Thread *thread.Thread // as it was read; for looking only

	claim  Claim
	silent map[string]time.Duration

	first uint64 // Seq of the first entry
	n     int    // how many there are
}

// Claim is what a decision knows beside the log: under which claim it is made.
type Claim struct {
	// Since is the Seq of the first entry that came by this claim (or would, when
	// none did yet): what was due before it may have been tried by a run that died.
	Since uint64
	// Token is a word that no other claim has. It is part of the names that are
	// made under this one.
	Token string
	// Self is this process, as the store names it: a call that it began itself
	// is running still.
	Self string
	// Now is the store's clock at the claim: the log may have stood still for long.
	Now time.Time
}

// NewLog reads a log under a claim.
func NewLog(entries []memory.Entry, c Claim) *Log {
	l := &Log{claim: c, Thread: thread.New()}
	l.Append(entries...)
	return l
}

// Resume goes on with a log that was read before under another claim: entries are the
// same ones, and what came behind them. It says false where they can't be.
func (l *Log) Resume(entries []memory.Entry, c Claim) bool {
	if l.n == 0 || len(entries) < l.n || entries[0].Seq != l.first || entries[l.n-1].Seq != l.Thread.Last {
		return false
	}
	l.claim, l.silent = c, nil
	l.Thread.Unbind()
	l.Append(entries[l.n:]...)
	return true
}

// Equal says whether another log comes to the same, as it does when it has the same
// entries. It is for whoever checks what goes on with a log.
func (l *Log) Equal(other *Log) bool {
	return l.first == other.first && l.n == other.n && l.Thread.Equal(other.Thread)
}

// Append adds what was committed, and what arrived.
func (l *Log) Append(entries ...memory.Entry) {
	if l.n == 0 && len(entries) > 0 {
		l.first = entries[0].Seq
	}
	l.n += len(entries)
	for _, e := range entries {
		l.Thread.Add(e)
	}
}

// Last is the Seq of the last entry, 0 where there is none.
func (l *Log) Last() uint64 { return l.Thread.Last }

// Call gives a call by its id.
func (l *Log) Call(id string) (memory.Call, bool) {
	if c := l.Thread.Calls[id]; c != nil {
		return c.Call, true
	}
	return memory.Call{}, false
}

// Others lists the processes of which it must be known whether they still run a
// call that they began.
func (l *Log) Others() []string {
	var out []string
	for _, c := range l.Thread.Running() {
		if c.Run.By != "" && c.Run.By != l.claim.Self && !slices.Contains(out, c.Run.By) {
			out = append(out, c.Run.By)
		}
	}
	return out
}

// Own lists the calls without an outcome that this process began.
func (l *Log) Own() []memory.Call {
	var out []memory.Call
	for _, c := range l.Thread.Running() {
		if c.Run.By != "" && c.Run.By == l.claim.Self {
			out = append(out, c.Call)
		}
	}
	return out
}

// Over says whether a call has its result, so that nothing is asked of it any more.
func (l *Log) Over(call string) bool {
	c := l.Thread.Calls[call]
	return c == nil || c.Result != nil
}

// Unbegun is the result of a call of one's own that does not run: sure says that it
// never did.
func Unbegun(c memory.Call, sure bool) memory.Result {
	if !sure {
		return unknownOutcome(c)
	}
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "The call did not run: the store was away at that moment. Call it again if it is still wanted."}
}

// Heard notes for how long nothing was heard of a process.
func (l *Log) Heard(process string, silent time.Duration) {
	if l.silent == nil {
		l.silent = map[string]time.Duration{}
	}
	l.silent[process] = silent
}

// Action is what to do next; one of the types below. Whoever performs it
// commits what it names, and asks again.
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

	// Judge asks about membership in Rules for the person who reacted, and
	// records what [Agent.Vote] makes of it.
	Judge struct {
		Seq      uint64 // of the reaction's entry
		At       time.Time
		Reaction memory.Reaction
		Rules    []string    // group:ID, role:ID
		Others   []chat.User // who else approved so far, to be looked up again
	}

	// Change asks about membership in Rules for the person who wants the arguments
	// of a waiting call changed, and records what [Agent.Changed] makes of it.
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

	// Call calls the model and records [Agent.Step] of its response, behind
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
		Token    string       // of the claim, for the ids of the calls that come of it
	}

	// Run runs read-only calls, concurrently, and records their results.
	Run struct{ Calls []memory.Call }

	// Preview runs the previews of calls, concurrently, and records [Previewed] of
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

	// List looks for what waits for a person in all conversations that they see, and
	// then is the Post with that for its text.
	List struct {
		Who  chat.User
		At   time.Time // when it was asked, by the store's clock
		Post Post
	}

	// Mark puts the eyes on a message that has to wait, and records Seen.
	Mark struct {
		Ref     chat.MessageRef
		Message uint64
	}
)

func (Wait) action()     {}
func (Record) action()   {}
func (Open) action()     {}
func (Judge) action()    {}
func (Identify) action() {}
func (Change) action()   {}
func (Call) action()     {}
func (Run) action()      {}
func (Effect) action()   {}
func (Preview) action()  {}
func (Post) action()     {}
func (Edit) action()     {}
func (AskWhy) action()   {}
func (List) action()     {}
func (Mark) action()     {}
