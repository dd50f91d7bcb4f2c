package run

import "nod/agent"

// DecideBy puts a function in the place of the Agent's Next.
func (r *Runner) DecideBy(next func(*agent.Log) agent.Action) { r.next = next }
