package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/llm/args"
	"nod/tools"
	"nod/tools/mcp/wire"
)

// Definition is everything of a tool that somebody accepts: its description for the
// model, and its hints about danger.
type Definition struct {
	Name        string          `json:"name"` // the server's own
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema, its keys sorted
	Hints       *Hints          `json:"hints,omitempty"`

	Unusable string `json:"unusable,omitempty"` // why it can't be called from here

	Task bool `json:"-"` // by the protocol of 2025-11-25 the client has to ask for a task
}

// Hints are a tool's statements about itself. See
// https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations.
type Hints struct {
	ReadOnly    bool  `json:"read_only"`
	Destructive *bool `json:"destructive,omitempty"` // nil means true
	Idempotent  bool  `json:"idempotent"`
	OpenWorld   *bool `json:"open_world,omitempty"` // nil means true
}

// Lock holds the tools that an operator has accepted, by server.
type Lock struct {
	About   string                  `json:"about"`
	Servers map[string][]Definition `json:"servers"`
}

const about = "The tools of MCP servers as somebody accepted them, written by `bot check --accept-mcp`. A tool that is not as it is here is off. Keep this file with the configuration."

// ReadLock reads a lock file. Where there is none it gives nil.
func ReadLock(path string) (*Lock, error) {
	var l Lock
	if ok, err := tools.ReadLock(path, &l); err != nil || !ok {
		return nil, err
	}
	for _, list := range l.Servers {
		for i := range list {
			list[i].Parameters = args.Canonical(list[i].Parameters)
		}
	}
	return &l, nil
}

// Write writes the file, whole or not at all.
func (l *Lock) Write(path string) error { return tools.WriteLock(path, l) }

// of gives the accepted tools of a server.
func (l *Lock) of(server string) ([]Definition, bool) {
	if l == nil {
		return nil, false
	}
	list, ok := l.Servers[server]
	return list, ok
}

// defined reads a server's description of a tool.
func defined(t *sdk.Tool) (Definition, error) {
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return Definition{}, fmt.Errorf("read parameters: %w", err)
	}
	d := Definition{Name: t.Name, Description: strings.ToValidUTF8(t.Description, "\ufffd"), Parameters: args.Canonical(raw)}
	d.Task = t.Meta[wire.TaskMeta] == "required"
	if a := t.Annotations; a != nil {
		d.Hints = &Hints{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, Idempotent: a.IdempotentHint, OpenWorld: a.OpenWorldHint}
	}
	return d, nil
}

// The most that one definition may hold, as all of it is in every prompt.
const (
	mostDescription = 16 << 10
	mostParameters  = 64 << 10
)

// forModel gives the parameters as every provider takes them, or says why no
// model can use the tool.
func (d Definition) forModel() (json.RawMessage, error) {
	switch {
	case d.Unusable != "":
		return nil, errors.New(d.Unusable)
	case len(d.Description) > mostDescription:
		return nil, fmt.Errorf("its description has more than %d KiB", mostDescription>>10)
	case len(d.Parameters) > mostParameters:
		return nil, fmt.Errorf("its parameters have more than %d KiB", mostParameters>>10)
	}
	root := map[string]any{}
	if err := json.Unmarshal(d.Parameters, &root); err != nil {
		return nil, errors.New("its parameters are not a JSON Schema of type object")
	}
	if root == nil { // it was null
		root = map[string]any{}
	}
	if err := args.Flatten(root); err != nil {
		return nil, err
	}
	for key, value := range map[string]any{"type": "object", "properties": map[string]any{}} {
		if _, ok := root[key]; !ok {
			root[key] = value
		}
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	raw = args.Canonical(raw)
	if _, err := args.Compile(raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// changes lists the differences of two definitions, one line for each part, as
// `description: "old" → "new"`. Quotes keep a server's text from controlling the
// operator's terminal.
func changes(from, to Definition) []string {
	var out []string
	for _, p := range from.parts(to) {
		was, is := window(p.from, p.to)
		out = append(out, fmt.Sprintf("%s: %q → %q", p.name, was, is))
	}
	return out
}

// part is one in which two definitions differ.
type part struct{ name, from, to string }

func (d Definition) parts(to Definition) []part {
	return slices.DeleteFunc([]part{
		{"description", d.Description, to.Description},
		{"parameters", string(d.Parameters), string(to.Parameters)},
		{"hints", d.Hints.String(), to.Hints.String()},
	}, func(p part) bool { return p.from == p.to })
}

// String describes the hints.
func (h *Hints) String() string {
	if h == nil {
		return "none"
	}
	raw, err := json.Marshal(h)
	if err != nil {
		return "unreadable"
	}
	return string(raw)
}

// window cuts two texts down to where they differ, with a little around it.
func window(a, b string) (string, string) {
	const around, most = 40, 240
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	cut := func(s string) string {
		from, dots := max(start-around, 0), ""
		if from > 0 {
			dots = "…"
		}
		s = s[from:]
		if len(s) > most {
			s = s[:most] + "…"
		}
		return strings.ToValidUTF8(dots+s, "")
	}
	return cut(a), cut(b)
}

// byName finds a definition.
func byName(list []Definition, name string) (Definition, bool) {
	i := slices.IndexFunc(list, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return Definition{}, false
	}
	return list[i], true
}
