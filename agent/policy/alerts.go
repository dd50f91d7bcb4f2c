package policy

import (
	"slices"
	"time"

	"nod/chat"
	"nod/memory"
)

// Alert is what decisions need to know of an alert.
type Alert struct {
	Approvers []string      // take the place of the requester
	Timeout   time.Duration // of an approval, where the tool names none
}

// Rules are the rules of a tool in a turn of the alert.
func (a Alert) Rules(t Tool) memory.Rules {
	r := t.Rules
	r.Approvers, r.Escalate.Approvers = a.instead(r.Approvers), a.instead(r.Escalate.Approvers)
	if !t.OwnTimeout && a.Timeout > 0 {
		r.Timeout = a.Timeout
	}
	return r
}

// instead puts the approvers in the place of the requester.
func (a Alert) instead(rules []string) (out []string) {
	for _, rule := range rules {
		if rule != chat.Requester {
			out = append(out, rule)
			continue
		}
		out = append(out, a.Approvers...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
