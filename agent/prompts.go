package agent

import (
	"slices"

	"nod/agent/do"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// Prompt is the model call at the end of this log; ok is false where no turn runs or is
// about to.
func (a *Agent) Prompt(log *Log) (c do.Call, ok bool) {
	if c, ok := a.Next(log).(do.Call); ok {
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
func (a *Agent) Anew(log *Log, kind memory.StepKind, branch int) (c do.Call, ok bool) {
	t := log.Thread.Open
	if t == nil {
		return do.Call{}, false
	}
	plain := *a
	plain.Summary = false
	d := plain.on(log)
	d.past = true
	c, ok = d.callModel(t, strategy.Phase{Kind: kind, Branch: branch}).(do.Call)
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
func (a *Agent) Shorter(log *Log, c do.Call) (cut memory.Trimmed, ok bool) {
	d := a.As(c.Request.Model).on(log)
	d.branch = c.Branch
	defer d.suppose(c.Before...)()
	return d.prompt().Shorter(2. / 3)
}

// Half is a refused call with half of its prompt, since nothing says that the length was
// not the cause; ok is false where no turn can be left out. Behind a turn that failed it is
// the present turn alone: the cause may stand in that. Only if it is answered is the trim
// kept.
func (a *Agent) Half(log *Log, c do.Call) (half do.Call, ok bool) {
	d := a.As(c.Request.Model).on(log)
	d.held, d.branch = true, c.Branch
	defer d.suppose(c.Before...)()
	was := d.thread.Trim.Before
	cut, ok := d.prompt().Shorter(1. / 2)
	if n := len(d.thread.Turns); n > 1 && d.thread.Turns[n-2].Failed != nil {
		cut, ok = d.thread.Trim, true
		cut.Before = d.thread.Turns[n-1].ID
		d.thread.Carry(&cut)
	}
	if !ok || cut.Before == was || d.thread.Open == nil {
		return c, false
	}
	d.suppose(cut)
	plain := *d.agent
	plain.Summary = false
	d.agent = &plain
	half, ok = d.callModel(d.thread.Open, strategy.Phase{Kind: c.Phase, Branch: c.Branch}).(do.Call)
	half.Instead = c.Instead
	half.Before, half.Whole = slices.Concat(c.Before, []memory.Body{cut}, half.Before), &c
	return half, ok
}

// Summarised is the entry for a summary that the model wrote.
func (a *Agent) Summarised(log *Log, act do.Summarise, r llm.Response) memory.Trimmed {
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
