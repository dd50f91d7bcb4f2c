package agent

import (
	"slices"
	"time"

	"nod/agent/thread"
	"nod/memory"
)

// Log is the thread that Next decides on, read once from front to back, so that a decision
// costs only what is new. Only entries are put into it. One goroutine at a time uses it.
type Log struct {
	Thread *thread.Thread // as it was read; for looking only

	// Book is the channel's facts, as they were read after the last entry; nil: nobody read
	// them.
	Book *memory.Book

	claim  Claim
	silent map[string]time.Duration

	first uint64 // Seq of the first entry
	n     int    // how many there are
}

// Claim is what a decision knows beside the log.
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
	// Proven says whether this process knows, of a card from an earlier process, that it
	// shows no more than the log; by its [thread.Thread.Proof]. nil: of all cards.
	Proven func(proof string) bool
	// Direct says that the thread is the direct conversation with one person.
	Direct bool
	// Facts is the channel's book where what was done is looked at again: prompts then show
	// the facts that the log names, and nothing is recorded of them. nil: the book is read
	// when it is needed.
	Facts *memory.Book
}

// NewLog reads a log under a claim.
func NewLog(entries []memory.Entry, c Claim) *Log {
	l := &Log{claim: c, Thread: thread.New(), Book: c.Facts}
	l.Append(entries...)
	return l
}

// Resume goes on with a log under another claim. The entries begin with those that were
// read before; false when they do not.
func (l *Log) Resume(entries []memory.Entry, c Claim) bool {
	if l.n == 0 || len(entries) < l.n || entries[0].Seq != l.first || entries[l.n-1].Seq != l.Thread.Last {
		return false
	}
	l.claim, l.silent, l.Book = c, nil, nil
	l.Thread.Unbind()
	l.Append(entries[l.n:]...)
	return true
}

// Equal says whether another log comes to the same thread. Tests and checks call it.
func (l *Log) Equal(other *Log) bool {
	return l.first == other.first && l.n == other.n && l.Thread.Equal(other.Thread)
}

// Append adds entries that were committed, or arrived.
func (l *Log) Append(entries ...memory.Entry) {
	if l.n == 0 && len(entries) > 0 {
		l.first = entries[0].Seq
	}
	l.n += len(entries)
	l.Book = l.claim.Facts
	for _, e := range entries {
		l.Thread.Add(e)
	}
}

// Others lists the other processes that began a call without a result, so that the driver
// asks whether they still run. A call with a handle needs no process.
func (l *Log) Others() []string {
	var out []string
	for _, c := range l.Thread.Running() {
		if c.Run.Handle == nil && c.Run.By != "" && c.Run.By != l.claim.Self && !slices.Contains(out, c.Run.By) {
			out = append(out, c.Run.By)
		}
	}
	return out
}

// Own lists the calls without an outcome that this process began.
func (l *Log) Own() []memory.Call {
	var out []memory.Call
	for _, c := range l.Thread.Running() {
		if c.Run.Handle == nil && c.Run.By != "" && c.Run.By == l.claim.Self {
			out = append(out, c.Call)
		}
	}
	return out
}

// Heard notes for how long a process was silent.
func (l *Log) Heard(process string, silent time.Duration) {
	if l.silent == nil {
		l.silent = map[string]time.Duration{}
	}
	l.silent[process] = silent
}

// Still leaves out of the bodies that were to follow an action the ends of turns that
// ended meanwhile, or were forgotten.
func (l *Log) Still(bodies []memory.Body) []memory.Body {
	return slices.DeleteFunc(slices.Clone(bodies), func(b memory.Body) bool {
		e, ok := b.(memory.Ended)
		t := l.Thread.Turn(e.Turn)
		return ok && (t == nil || t.Ended)
	})
}
