package agent

import (
	"nod/agent/strategy"
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
