package demo

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nod/llm"
)

// parameters is as much of a tool's JSON Schema as the script reads.
type parameters struct {
	Properties map[string]parameter `json:"properties"`
	Required   []string             `json:"required"`
}

type parameter struct {
	Type        any    `json:"type"` // a string, or a list of them
	Enum        []any  `json:"enum"`
	Format      string `json:"format"`
	Description string `json:"description"`
}

// parametersOf reads the schema; of one that is no object schema it knows
// nothing, and calls go out without arguments.
func parametersOf(t llm.Tool) parameters {
	var p parameters
	if err := json.Unmarshal(t.Parameters, &p); err != nil {
		return parameters{}
	}
	return p
}

func (p parameter) is(kind string) bool {
	switch t := p.Type.(type) {
	case string:
		return t == kind
	case []any:
		return slices.Contains(t, any(kind))
	}
	return kind == "string" && len(p.Enum) == 0 // no type at all
}

// order lists the names of the parameters, the required ones first.
func (p parameters) order() []string {
	names := slices.DeleteFunc(slices.Clone(p.Required), func(n string) bool { _, ok := p.Properties[n]; return !ok })
	for _, n := range slices.Sorted(maps.Keys(p.Properties)) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// firstString names the parameter that takes the one value of a simple tool.
func (p parameters) firstString() string {
	for _, n := range p.order() {
		if p.Properties[n].is("string") {
			return n
		}
	}
	return ""
}

// fill finds values for the parameters in the words behind the tool's name; for pairs
// and enums, anywhere in the text. Several values of one enum make several calls.
// missing names the required parameters without a value.
func (p parameters) fill(segment, text []word) (calls []map[string]any, missing []string) {
	args := map[string]any{}
	var several string
	var values []any
	for _, n := range p.order() {
		prop := p.Properties[n]
		if v, ok := pair(n, prop, segment); ok {
			args[n] = v
		} else if v, ok := pair(n, prop, text); ok {
			args[n] = v
		} else if found := enums(prop, segment, text); len(found) > 0 {
			args[n] = found[0]
			if len(found) > 1 && several == "" {
				several, values = n, found
			}
		} else if v, ok := plain(n, prop, segment); ok {
			args[n] = v
		}
	}
	p.fillText(args, segment)
	for _, n := range p.Required {
		if _, ok := args[n]; !ok {
			missing = append(missing, p.Properties[n].describe(n))
		}
	}
	if several == "" {
		return []map[string]any{args}, missing
	}
	for _, v := range values {
		one := maps.Clone(args)
		one[several] = v
		calls = append(calls, one)
	}
	return calls, missing
}

func (p parameter) describe(name string) string {
	var choices []string
	for _, v := range p.Enum {
		if s, ok := v.(string); ok {
			choices = append(choices, s)
		}
	}
	switch {
	case len(choices) > 0:
		return quote(name) + " (" + strings.Join(choices, " or ") + ")"
	case p.Description != "":
		return quote(name) + " (" + strings.TrimRight(p.Description, ".") + ")"
	}
	return quote(name)
}

// pair finds name=value.
func pair(name string, p parameter, words []word) (any, bool) {
	for i, w := range words {
		k, v, ok := strings.Cut(w.text, "=")
		if w.quoted || !ok || !strings.EqualFold(k, name) {
			continue
		}
		if val, ok := p.value(strings.Trim(v, `"`)); ok {
			words[i].used = true
			return val, true
		}
	}
	return nil, false
}

// value reads a text as a value of the parameter's type.
func (p parameter) value(s string) (any, bool) {
	if len(p.Enum) > 0 {
		for _, e := range p.Enum {
			if t, ok := e.(string); ok && strings.EqualFold(t, s) {
				return t, true
			}
		}
		return nil, false
	}
	var v any
	isJSON := json.Unmarshal([]byte(s), &v) == nil
	switch {
	case p.is("string"):
		return s, true
	case p.is("integer"):
		n, err := strconv.ParseInt(s, 10, 64)
		return n, err == nil
	case p.is("array") && !isJSON:
		return strings.Split(s, ","), true
	}
	return v, isJSON
}

// enums finds the values of an enum in the segment, or else in the whole text.
func enums(p parameter, segment, text []word) []any {
	for _, words := range [][]word{segment, text} {
		var out []any
		for i, w := range words {
			if v, ok := p.value(w.text); ok && len(p.Enum) > 0 && !w.used && !slices.Contains(out, v) {
				words[i].used = true
				out = append(out, v)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

var address = regexp.MustCompile(`^https?://\S+$`)

// plain finds numbers, addresses and truth values by their form.
func plain(name string, p parameter, segment []word) (any, bool) {
	for i, w := range segment {
		if w.used {
			continue
		}
		switch {
		case p.is("integer") || p.is("number"):
			if v, ok := p.value(w.text); ok {
				segment[i].used = true
				return v, true
			}
		case p.is("boolean") && w.lower() == strings.ToLower(strings.ReplaceAll(name, "_", "-")):
			segment[i].used = true
			return true, true
		case p.is("string") && len(p.Enum) == 0 && (p.Format == "uri" || strings.EqualFold(name, "url")) && address.MatchString(w.text):
			segment[i].used = true
			return w.text, true
		}
	}
	return nil, false
}

// filler are words that a free text does not begin or end with.
var filler = map[string]bool{
	"for": true, "about": true, "of": true, "the": true, "a": true, "an": true, "to": true, "please": true, "and": true, "on": true,
	"with": true, "in": true, "that": true, "then": true, "says": true, "saying": true, "what": true, "is": true, "at": true,
}

// fillText gives quoted texts to the required free-text parameters, and the rest of the
// text to the last one.
func (p parameters) fillText(args map[string]any, segment []word) {
	var open []string
	for _, n := range p.Required {
		if _, ok := args[n]; !ok && p.Properties[n].is("string") && len(p.Properties[n].Enum) == 0 && p.Properties[n].Format != "uri" && n != "url" {
			open = append(open, n)
		}
	}
	for i, w := range segment {
		if w.quoted && !w.used && len(open) > 0 {
			args[open[0]], open = w.text, open[1:]
			segment[i].used = true
		}
	}
	if len(open) != 1 {
		return
	}
	var rest []string
	for _, w := range segment {
		if !w.used && !strings.Contains(w.text, "=") {
			rest = append(rest, w.text)
		}
	}
	for len(rest) > 0 && filler[strings.ToLower(rest[0])] {
		rest = rest[1:]
	}
	for len(rest) > 0 && filler[strings.ToLower(rest[len(rest)-1])] {
		rest = rest[:len(rest)-1]
	}
	if len(rest) > 0 {
		args[open[0]] = strings.Join(rest, " ")
	}
}
