package agent

import (
	"slices"

	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// Prompt is the model call at the end of this log; ok is false where no turn runs or is
// about to.
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

// Anew is the model call that the running turn would make now, for the phase of a recorded
// call; ok is false when no turn runs. It asks for no summary.
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

// Fits says whether the instructions and tool definitions leave room for a conversation in
// the budget.
func (a *Agent) Fits() error {
	log := NewLog(nil, Claim{})
	log.Thread.Open = &thread.Turn{}
	return a.on(log).prompt().Fits()
}

// Shorter is the trim for a prompt that was too long for the model, whose limit may be
// below the budget; ok is false where nothing more can be left out. The trim lasts, so
// that the limit is tried out once.
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

// Renewed brings the entries before a model call up to date. While the model was at work
// people may have revoked, switched or dropped something, and an older cut must not bring
// that back.
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
