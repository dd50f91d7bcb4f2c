package hooks

import (
	"regexp"

	"nod/agent/incidents"
	"nod/agent/policy"
	"nod/cmd/bot/config"
)

// Rules are the rules of all alerts, by name.
func Rules(all []config.Alert) map[string]incidents.Rules {
	out := map[string]incidents.Rules{}
	for _, a := range all {
		out[a.Name] = incidents.Rules{
			Name: a.Name, Bot: a.Bot, In: a.In, Match: compiled(a.Match), Over: compiled(a.Resolved), Ask: a.Ask, Same: a.Same,
			Quiet: a.Quiet, Late: a.Late, Most: a.Most,
		}
	}
	return out
}

// compiled is an expression of the file, which was checked; nil where there is none.
func compiled(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	return regexp.MustCompile(text)
}

// Policies are who decides in the turns of alerts, by name.
func Policies(all []config.Alert) map[string]policy.Alert {
	out := map[string]policy.Alert{}
	for _, a := range all {
		out[a.Name] = policy.Alert{Approvers: a.Approvers, Timeout: a.Timeout}
	}
	return out
}
