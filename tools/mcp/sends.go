package mcp

import (
	"slices"

	"nod/llm"
	"nod/llm/args"
)

// sends lists the parameters whose values leave the server for somebody else's place:
// by the configuration, or else by the tool itself; then they are undeclared, and the
// names and values of a call may add some. A tool that says that it acts on an open world
// may send all its values, except small ones: numbers, yes or no, a choice of a list. So
// may a tool with parameters outside of its schema.
func (c Server) sends(d Definition) (out []string, undeclared bool) {
	said := false
	for pattern, names := range c.Sends {
		if matches(d.Name, pattern) {
			said, out = true, append(out, names...)
		}
	}
	if said {
		slices.Sort(out)
		return slices.Compact(out), false
	}
	open := d.Hints != nil && d.Hints.OpenWorld != nil && *d.Hints.OpenWorld
	out, rest, err := args.Outward(d.Parameters, open)
	if err == nil && rest { // else such a tool is not offered
		out = append(out, llm.Unnamed)
	}
	return out, true
}
