package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nod/agent/thread"
	"nod/edits"
	"nod/llm"
	"nod/llm/args"
	"nod/tools/find"
)

// Where the definitions of all tools are too many for a prompt, the model searches. A
// call of [UseTool] spells the call of another tool. It is read where a completion is
// read, and written where a prompt is: all between sees the other call.

// The tools of the search.
const (
	FindTool = "find_tools"
	UseTool  = "use_tool"
)

// most is how many definitions a search gives, and mostBytes how long they may be, but
// for the first.
const (
	most      = 8
	mostBytes = 16 << 10
)

var useTool = llm.Tool{
	Name:        UseTool,
	Description: "Calls a tool that find_tools gave, with arguments that fit its parameters.",
	Parameters:  json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name","arguments"],"additionalProperties":false}`),
}

// Search is the tool by which the model finds others.
func Search() Tool {
	t := Tool{Risk: Auto, ReadOnly: true, Tool: llm.Tool{
		Name:        FindTool,
		Description: "Finds tools that are not shown here, by words: the service, what is to be done, and with what.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","minLength":1}},"required":["query"],"additionalProperties":false}`),
	}}
	t.Schema, _ = args.Compile(t.Parameters) // a constant, which a test compiles
	return t
}

// Searched says whether tools are found by search.
func (s Set) Searched() bool {
	_, ok := s.Find(FindTool)
	return ok
}

// Shown lists the tools that a prompt holds, and writes a line for each server whose
// tools are found by search.
func (s Set) Shown(t *thread.Thread, draft int) (list []llm.Tool, servers string) {
	var hidden Set
	for _, tool := range s {
		switch {
		case !tool.Offered(t, draft):
		case tool.Hidden:
			hidden = append(hidden, tool)
		default:
			list = append(list, tool.Tool)
		}
	}
	i := slices.IndexFunc(list, func(t llm.Tool) bool { return t.Name == FindTool })
	switch {
	case i < 0:
		return list, ""
	case len(hidden) == 0:
		return slices.Delete(list, i, i+1), ""
	}
	return append(list, useTool), "\nMore tools are not shown here: find_tools finds them, use_tool calls them.\n" + hidden.Servers()
}

// Servers describes the servers of tools, a line each. The names of tools that nobody
// accepted stay out, since a stranger chose them.
func (s Set) Servers() string {
	var lines []string
	for len(s) > 0 {
		server, rest, names := s[0].Server, Set(nil), []string(nil)
		strange := false
		for _, t := range s {
			if t.Server != server {
				rest = append(rest, t)
				continue
			}
			names = append(names, strings.TrimPrefix(t.Name, server+"_"))
			strange = strange || t.Unaccepted
		}
		line := fmt.Sprintf("- %s: %d tools", server, len(names))
		if len(names) == 1 {
			line = fmt.Sprintf("- %s: 1 tool", server)
		}
		if topics := find.Topics(names); len(topics) > 0 && !strange {
			line += ": " + strings.Join(topics, ", ") + ", …"
		}
		lines, s = append(lines, line), rest
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Found answers a search; strange says that nobody accepted one of the definitions.
func (s Set) Found(t *thread.Thread, draft int, call string) (text string, strange bool) {
	var asked struct{ Query string }
	_ = json.Unmarshal([]byte(call), &asked) // it fits the schema
	var may []llm.Tool
	for _, tool := range s {
		if tool.Hidden && tool.Offered(t, draft) {
			may = append(may, tool.Tool)
		}
	}
	hits := find.Tools(may, asked.Query)
	if len(hits) == 0 {
		return "No tool fits these words. Try others: the service, what is to be done, and with what.", false
	}
	var b strings.Builder
	for i, hit := range hits[:min(most, len(hits))] {
		tool, _ := s.Find(hit.Name)
		line := object(struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}{hit.Name, hit.Description, hit.Parameters})
		if line == "" || i > 0 && b.Len()+len(line) > mostBytes {
			line = hit.Name + ": too long to show beside the others; search by its name for its parameters"
		}
		b.WriteString(line + "\n")
		strange = strange || tool.Unaccepted
	}
	return b.String() + "Call one with use_tool.", strange
}

// Nearest lists the three tools that may be used whose names are nearest to one that no
// tool has; strange says that nobody accepted one of them.
func (s Set) Nearest(t *thread.Thread, draft int, name string) (names []string, strange bool) {
	may := slices.DeleteFunc(slices.Clone(s), func(tool Tool) bool { return tool.Name == FindTool || !tool.Offered(t, draft) })
	slices.SortStableFunc(may, func(a, b Tool) int { return edits.Letters(a.Name, name) - edits.Letters(b.Name, name) })
	for _, tool := range may[:min(3, len(may))] {
		names, strange = append(names, tool.Name), strange || tool.Unaccepted
	}
	return names, strange
}

// Meant is the call that a call of [UseTool] spells. Any other call stays as it is, and so
// does one that can't be read, or that names a tool of the search.
func (s Set) Meant(c llm.Call) llm.Call {
	var inner struct {
		Name      string
		Arguments json.RawMessage
	}
	if c.Name != UseTool || !s.Searched() {
		return c
	}
	raw, err := args.Native(c.Args)
	if err != nil || json.Unmarshal(raw, &inner) != nil || slices.Contains([]string{"", FindTool, UseTool}, inner.Name) {
		return c
	}
	c.Name, c.Args = inner.Name, string(inner.Arguments)
	return c
}

// Spelt is how the model writes a call that it made, now that its tool is in no prompt.
func (s Set) Spelt(name, arguments string) (tool, inside string) {
	if t, known := s.Find(name); name == UseTool || known && !t.Hidden || !s.Searched() {
		return name, arguments
	}
	inside = object(struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{name, json.RawMessage(arguments)})
	if inside == "" {
		return name, arguments
	}
	return UseTool, inside
}

// object is a value as JSON, without needless escapes; "" where it is none.
func object(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
