package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"nod/llm/args"
)

// Names lists the {name}s of a template.
func Names(text string) (names []string) {
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// placeholder is {name} in a template.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// saysValues says whether a parameter's schema lists its values, or allows a leading
// dash on purpose. A pattern such as ^[^/]+$ does neither: its author thought of
// slashes.
func saysValues(property json.RawMessage) bool {
	var schema struct {
		Enum             []any            `json:"enum"`
		Const            *json.RawMessage `json:"const"`
		Pattern          string           `json:"pattern"`
		Type             any              `json:"type"`
		Minimum          *json.Number     `json:"minimum"`
		ExclusiveMinimum *json.Number     `json:"exclusiveMinimum"`
	}
	if err := json.Unmarshal(property, &schema); err != nil {
		return false // true and false are schemas too, and say nothing
	}
	number := schema.Type == "integer" || schema.Type == "number"
	if schema.Enum != nil || schema.Const != nil || strings.HasPrefix(schema.Pattern, "^-") {
		return true
	}
	return number && (schema.Minimum != nil || schema.ExclusiveMinimum != nil)
}

// readValues gives the arguments as text, without those that are null.
func readValues(raw json.RawMessage) (map[string]string, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	values := make(map[string]string, len(all))
	for name, v := range all {
		var text *string
		if json.Unmarshal(v, &text) != nil {
			values[name] = string(args.Canonical(v))
		} else if text != nil {
			values[name] = *text
		}
	}
	return values, nil
}

// render fills a template in.
func render(text string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string { return values[p[1:len(p)-1]] })
}

// leading is the parameter whose value an element begins with; "" where it is none.
func leading(text string, values map[string]string) string {
	for {
		m := placeholder.FindStringSubmatchIndex(text)
		if m == nil || m[0] > 0 {
			return ""
		}
		if name := text[m[2]:m[3]]; values[name] != "" {
			return name
		}
		text = text[m[1]:]
	}
}

// fill makes the arguments of a program. It refuses those that the program
// could take for an option; command.md has the rule.
func (c *command) fill(values map[string]string) ([]string, error) {
	out := []string{}
	ended := false // there was a -- that the model did not write
	for _, t := range c.Argv[1:] {
		if m := placeholder.FindStringSubmatch(t); m != nil && m[0] == t {
			if _, ok := values[m[1]]; !ok {
				continue
			}
		}
		text := render(t, values)
		if strings.ContainsRune(text, 0) {
			return nil, errors.New("an argument of a program cannot hold a zero byte; write it without")
		}
		if name := leading(t, values); name != "" && !c.dash[name] && !ended && strings.HasPrefix(text, "-") {
			return nil, fmt.Errorf("the value of %q begins with -, and could be taken for an option; write one that does not", name)
		}
		ended = ended || t == "--"
		out = append(out, text)
	}
	return out, nil
}
