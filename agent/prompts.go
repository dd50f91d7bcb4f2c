package agent

import (
	"slices"

	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// Prompt is what the model would be shown at the end of this log; ok is false where
// no turn runs or is about to.
func (a *Agent) Prompt(log *Log) (c Call, ok bool) {
	if c, ok := a.Next(log).(Call); ok {
		return c, true
	}
	var next strategy.Phase
	if t := log.Thread.Open; t != nil {
		next = strategy.Next(t)
	}
	return a.Anew(log, next.Kind, next.Branch)
}

// Anew is the model call that the running turn would make at the end of this log,
// for what a recorded call was for; ok is false when no turn runs. A summary that
// it would take is left out.
func (a *Agent) Anew(log *Log, kind memory.StepKind, branch int) (c Call, ok bool) {
	t := log.Thread.Open
	if t == nil {
		return Call{}, false
	}
	plain := *a
	plain.Summary = false
	d := plain.on(log)
	c, ok = d.callModel(t, strategy.Phase{Kind: kind, Branch: branch}).(Call)
	return c, ok
}

// Fits says whether the instructions and tool definitions leave room for a
// conversation in the budget. They are counted only where that is not plain from their
// length: it is asked at the start, and to count takes a table that is read for it.
func (a *Agent) Fits() error {
	log := NewLog(nil, Claim{})
	log.Thread.Open = &thread.Turn{}
	return a.on(log).prompt().Fits()
}

// Shorter is the trim for a prompt that was too long for the model, which may take less
// than the budget: it leaves out a good part of what was sent. ok is false where nothing
// more can be left out. It lasts, so that what the model takes is tried out once; what is
// sent grows again with the conversation.
func (a *Agent) Shorter(log *Log, c Call) (cut memory.Trimmed, ok bool) {
	d := a.on(log)
	d.branch = c.Branch
	saved := *d.thread
	defer func() { *d.thread = saved }()
	for _, b := range c.Before {
		d.thread.Add(memory.Entry{Seq: d.thread.Last, At: d.thread.Now, Body: b})
	}
	return d.prompt().Shorter()
}

// Summarised is the entry for a summary that the model wrote.
func (a *Agent) Summarised(log *Log, act Summarise, r llm.Response) memory.Trimmed {
	return a.on(log).prompt().Summarised(act.Cut, r)
}

// Renewed gives what goes before the entry of a call of the model as it has to be by
// now: while the model was at work people may have revoked, switched or dropped
// something, and a cut that was made before must not bring it back.
func (a *Agent) Renewed(log *Log, before []memory.Body) []memory.Body {
	out := slices.Clone(before)
	for i, b := range out {
		if cut, ok := b.(memory.Trimmed); ok {
			log.Thread.Renew(&cut)
			out[i] = cut
		}
	}
	return out
}
