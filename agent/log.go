package agent

import (
	"slices"
	"time"

	"nod/agent/approval"
	"nod/agent/thread"
	"nod/chat"
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

// Heard notes for how long nothing was heard of a process.
func (l *Log) Heard(process string, silent time.Duration) {
	if l.silent == nil {
		l.silent = map[string]time.Duration{}
	}
	l.silent[process] = silent
}

// Still gives what is not in the log by now of bodies that were to follow an action: a
// turn may have ended meanwhile, or was forgotten.
func (l *Log) Still(bodies []memory.Body) []memory.Body {
	return slices.DeleteFunc(slices.Clone(bodies), func(b memory.Body) bool {
		e, ok := b.(memory.Ended)
		t := l.Thread.Turn(e.Turn)
		return ok && (t == nil || t.Ended)
	})
}

// Unbegun is the result of a call of one's own that does not run: sure says that it
// never did.
func Unbegun(c memory.Call, sure bool) memory.Result {
	if !sure {
		return approval.UnknownOutcome(c)
	}
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "The call did not run: the store was away at that moment. Call it again if it is still wanted."}
}
