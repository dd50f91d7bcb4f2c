package memory

import "slices"

// AllApprovers lists who may decide in the end: those who may from the beginning,
// and those who may once nobody did for long.
func (r Rules) AllApprovers() []string {
	out := slices.Clone(r.Approvers)
	if r.Escalate.After <= 0 {
		return out
	}
	for _, rule := range r.Escalate.Approvers {
		if !slices.Contains(out, rule) {
			out = append(out, rule)
		}
	}
	return out
}
