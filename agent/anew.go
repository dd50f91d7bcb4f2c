package agent

import (
	"nod/agent/strategy"
	"nod/memory"
)

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
	c, ok = d.call(t, strategy.Phase{Kind: kind, Branch: branch}).(Call)
	return c, ok
}
