package lab

import (
	"slices"

	"nod/agent/do"
	"nod/memory"
)

// identify answers with the recorded memberships. People without a record are unknown.
func (s *stage) identify(act do.Identify) {
	for _, who := range act.Who {
		b := memory.Belongs{Turn: act.Turn, Call: act.Call, Who: who, Rules: act.Rules}
		for _, e := range s.rec.entries {
			then, ok := e.Body.(memory.Belongs)
			if ok && then.Who == who && then.Turn == act.Turn && then.Call == act.Call {
				b.In = slices.DeleteFunc(slices.Clone(then.In), func(rule string) bool { return !slices.Contains(act.Rules, rule) })
			}
		}
		s.append(b)
	}
}
