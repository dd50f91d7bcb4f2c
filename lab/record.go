package lab

import (
	"slices"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Recorded is one finished turn of a thread's log.
type Recorded struct {
	Thread chat.ThreadID
	Turn   uint64
	At     time.Time
	Facts  *memory.Book // of its channel, as they are now
	Place  string       // its channel, as [agent.Agent.Rooms] has it

	entries []memory.Entry // of the whole thread, in order
	opened  memory.Opened
	seq     uint64 // of Opened
	steps   []recordedStep
	calls   []*recordedCall
	stopped *memory.Stopped
	failed  bool
}

type recordedStep struct {
	memory.Step
	seq uint64
	ran *memory.Ran // a person made it, and no model
}

// recordedCall is the outcome of a call.
type recordedCall struct {
	memory.Call
	step    int // index in Recorded.steps
	digest  string
	asked   bool
	decided *memory.Decided
	granted *memory.Granted // with the approval
	reason  *memory.Reason
	changes []memory.Changed // of its arguments, by people
	started bool
	result  *memory.Result
}

// latest is the digest of the call with the arguments that people left it with.
func (c *recordedCall) latest() string {
	if n := len(c.changes); n > 0 {
		return digest(memory.Call{Tool: c.Tool, Args: c.changes[n-1].Args})
	}
	return c.digest
}

// is says whether it is a call of this tool with these arguments; without a digest
// any arguments will do.
func (c *recordedCall) is(tool, digest string) bool {
	return c.Tool == tool && (c.digest == digest || c.latest() == digest || c.digest == "")
}

// ran says whether the call came to a result of its tool's.
func (c *recordedCall) ran() bool {
	return c.result != nil && slices.Contains([]chat.CallState{chat.CallDone, chat.CallFailed, chat.CallUnknown}, c.result.State)
}

// Read lists the finished turns of a thread that were opened since then. Of a
// thread that holds an entry which this build can't read there are none, and ok is
// false.
func Read(id chat.ThreadID, entries []memory.Entry, since time.Time) (turns []*Recorded, ok bool) {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e memory.Entry) bool { return e.Seq == 0 })
	opened := map[uint64]memory.Entry{}
	for _, e := range entries {
		switch b := e.Body.(type) {
		case memory.Broken:
			return nil, false
		case memory.Unknown:
			if !b.Skip {
				return nil, false
			}
		case memory.Opened:
			opened[b.Turn] = e
		}
	}
	log := thread.Read(entries)
	for _, t := range log.Turns {
		r := &Recorded{Thread: id, Turn: t.ID, At: t.At, entries: entries, seq: opened[t.ID].Seq, stopped: t.Stopped, failed: t.Failed != nil}
		r.opened, _ = opened[t.ID].Body.(memory.Opened)
		for n, st := range t.Steps {
			r.step(log, n, st)
		}
		if t.Ended && !t.At.Before(since) && slices.ContainsFunc(r.steps, recordedStep.asked) {
			turns = append(turns, r)
		}
	}
	return turns, true
}

// step takes the nth step of the turn, with what came of its calls.
func (r *Recorded) step(log *thread.Thread, n int, st *thread.Step) {
	one := recordedStep{Step: st.Step, seq: st.Seq}
	if st.By != nil {
		one.ran = &memory.Ran{Turn: st.Turn, Seen: st.Seen, By: *st.By, Call: st.Step.Calls[0]}
	}
	r.steps = append(r.steps, one)
	for i, c := range st.Calls {
		asked := c // as it was asked for first
		if len(c.Ask.Past) > 0 {
			asked = c.Ask.Past[0]
		}
		k := &recordedCall{
			Call: st.Step.Calls[i], step: n, digest: digest(st.Step.Calls[i]), asked: c.Asked != nil,
			decided: asked.Decided, reason: c.Reason(), changes: c.Edits.Made, started: c.Started, result: c.Result,
		}
		if c.Asked != nil {
			if g := log.Grant(c.Asked.Number); g != nil {
				k.granted = &g.Granted
			}
		}
		r.calls = append(r.calls, k)
	}
}

// asked says whether the model was asked for the step.
func (st recordedStep) asked() bool { return st.ran == nil }

// begin is the last entry that was there when the turn's first step was decided.
func (r *Recorded) begin() uint64 {
	if r.steps[0].Seen < r.seq {
		return r.steps[0].Seen
	}
	return r.seq - 1
}

// upTo is the log as it was loaded when this was its last entry.
func (r *Recorded) upTo(seq uint64) []memory.Entry {
	end, base := 0, uint64(0)
	for i, e := range r.entries {
		if e.Seq > seq {
			break
		}
		end = i + 1
		switch b := e.Body.(type) {
		case memory.Trimmed:
			base = max(base, b.Before)
		case memory.Forgot:
			base = max(base, b.Before)
		}
	}
	return memory.Since(r.entries[:end], base)
}

// between lists people's messages between two places of the log, without votes by word
// and replies to a tool's question: the decision and the result stand for those.
func (r *Recorded) between(after, upTo uint64) []memory.Body {
	votes := map[uint64]bool{}
	var out []memory.Body
	for _, e := range slices.Backward(r.entries) {
		switch b := e.Body.(type) {
		case memory.Vote:
			votes[b.Reaction] = true
		case memory.Answered: // a reply to a tool's question
			votes[b.Message] = true
		case memory.Message, memory.Edited, memory.Deleted:
			if after < e.Seq && e.Seq <= upTo && !votes[e.Seq] {
				out = append(out, e.Body)
			}
		}
	}
	slices.Reverse(out)
	return out
}

// Usage is the usage of the turn's model calls, and their number.
func (r *Recorded) Usage() (u llm.Usage, calls int) {
	for _, st := range r.steps {
		if !st.asked() {
			continue
		}
		calls++
		u = sum(u, st.Usage)
		if st.Usage.Prompt == 0 {
			u.Prompt += st.Estimate
		}
	}
	return u, calls
}

// outcome is the turn's recorded outcome.
func (r *Recorded) outcome() Outcome {
	var o Outcome
	for _, st := range r.steps {
		o.usage = sum(o.usage, st.Usage)
		if st.Phase == "" {
			o.Answer = st.Answer
		}
	}
	if r.stopped != nil || r.failed {
		o.Answer = ""
	}
	for _, c := range r.calls {
		o.call(c.Call)
		switch {
		case c.asked:
			o.countAsk(c.digest)
		case c.started:
			o.unask(Free{Call: callOf(c.Call)})
		}
	}
	return o
}
