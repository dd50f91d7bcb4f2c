package agent

import (
	"fmt"
	"strings"

	"nod/agent/thread"
)

// switched answers that command.
func (d *decision) switched(word, name string) string {
	var hit []string
	for _, t := range d.a.Tools {
		if thread.StandsFor(t.Name, name) {
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
