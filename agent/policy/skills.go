package policy

import (
	"encoding/json"
	"slices"
	"strings"

	"nod/agent/thread"
	"nod/llm/args"
)

// Skill is a text of the operator's that the model reads when it needs it.
type Skill struct {
	Name, Description string
	Off               bool // since the start: no model learns of it
}

// SkillLines describes the skills that are on, a line each.
func SkillLines(skills []Skill) string {
	var lines []string
	for _, s := range skills {
		if !s.Off {
			lines = append(lines, "- "+s.Name+": "+s.Description)
		}
	}
	return strings.Join(lines, "\n")
}

// WithSkills has the tool that reads skills take the names of these and no others. Where
// all are off the tool is not there.
func (s Set) WithSkills(skills []Skill) Set {
	var names []string
	for _, k := range skills {
		if !k.Off {
			names = append(names, k.Name)
		}
	}
	s = slices.Clone(s)
	i := slices.IndexFunc(s, func(t Tool) bool { return t.Name == thread.SkillTool })
	switch {
	case i < 0:
		return s
	case len(names) == 0:
		return slices.Delete(s, i, i+1)
	}
	s[i].Parameters = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","enum":["` + strings.Join(names, `","`) + `"]}},"required":["name"],"additionalProperties":false}`)
	s[i].Schema, _ = args.Compile(s[i].Parameters) // names need no escapes
	return s
}
