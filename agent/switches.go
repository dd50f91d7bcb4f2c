package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// isOff says whether people switched a tool off in this thread. A name stands
// for all tools that begin with it, so that `tools off wikipedia` means both.
func (s *state) isOff(tool string) bool {
	for name := range s.off {
		if standsFor(tool, name) {
			return true
		}
	}
	return false
}

func standsFor(tool, name string) bool {
	return strings.EqualFold(tool, name) || len(tool) > len(name) && strings.EqualFold(tool[:len(name)+1], name+"_")
}

func (s *state) offList() []string { return slices.Sorted(maps.Keys(s.off)) }

// switchTool takes a command to switch a tool off or on.
func (s *state) switchTool(word, name string) {
	if word == "tools off" {
		s.off[name] = true
		return
	}
	maps.DeleteFunc(s.off, func(off string, _ bool) bool { return standsFor(off, name) || standsFor(name, off) })
}

// switched answers that command.
func (d *decision) switched(word, name string) string {
	var hit []string
	for _, t := range d.a.Tools {
		if standsFor(t.Name, name) {
			hit = append(hit, "`"+t.Name+"`")
		}
	}
	switch {
	case len(hit) == 0:
		return fmt.Sprintf("There is no tool `%s`. `help` lists the tools.", name)
	case word == "tools off":
		return fmt.Sprintf("Switched off in this thread: %s. `tools on %s` switches back.", strings.Join(hit, ", "), name)
	}
	return "Switched on in this thread: " + strings.Join(hit, ", ") + "."
}
