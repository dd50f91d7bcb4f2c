package run

import (
	"nod/agent"
	"nod/agent/do"
)

// DecideBy puts a function in the place of the Agent's Next.
func (r *Runner) DecideBy(next func(*agent.Log) do.Action) { r.next = next }
