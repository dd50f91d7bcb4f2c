package agent

import (
	"nod/agent/thread"
)

// Fits says whether the instructions and tool definitions leave room for a
// conversation in the budget. They are counted only where that is not plain from their
// length: it is asked at the start, and to count takes a table that is read for it.
func (a *Agent) Fits() error {
	log := NewLog(nil, Claim{})
	log.Thread.Open = &thread.Turn{}
	return a.on(log).prompt().Fits()
}
