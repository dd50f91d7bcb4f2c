package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
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

// template is an element of argv, or the input, in pieces.
type template []piece

// piece is literal text, or a parameter when param is set.
type piece struct {
	text  string
	param string
	dash  bool // the parameter's schema says which values with a leading - there are
}

func parseTemplate(text string, properties map[string]json.RawMessage) (template, error) {
	var t template
	end := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		property, ok := properties[name]
		if !ok {
			return nil, fmt.Errorf("there is no parameter %q for {%s}; for a literal brace put a space behind it", name, name)
		}
		if m[0] > end {
			t = append(t, piece{text: text[end:m[0]]})
		}
		t = append(t, piece{param: name, dash: saysValues(property)})
		end = m[1]
	}
	if end < len(text) {
		t = append(t, piece{text: text[end:]})
	}
	return t, nil
}

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
func readValues(args json.RawMessage) (map[string]string, error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var raw map[string]any
	if err := dec.Decode(&raw); err != nil {
		return nil, err
	}
	values := make(map[string]string, len(raw))
	for name, v := range raw {
		switch v := v.(type) {
		case nil:
		case string:
			values[name] = v
		default:
			var out bytes.Buffer
			enc := json.NewEncoder(&out)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v); err != nil {
				return nil, err
			}
			values[name] = strings.TrimSuffix(out.String(), "\n")
		}
	}
	return values, nil
}

// render fills a template in. absent says that it was nothing but a parameter
// that is not there.
func (t template) render(values map[string]string) (text string, absent bool) {
	if len(t) == 1 && t[0].param != "" {
		value, ok := values[t[0].param]
		return value, !ok
	}
	var out strings.Builder
	for _, p := range t {
		out.WriteString(p.text + values[p.param])
	}
	return out.String(), false
}

// leading is the parameter whose value an element begins with, if it does.
func (t template) leading(values map[string]string) (p piece, ok bool) {
	for _, p := range t {
		if p.param == "" {
			return piece{}, false
		}
		if values[p.param] != "" {
			return p, true
		}
	}
	return piece{}, false
}

// fill makes the arguments of a program. It refuses those that the program
// could take for an option; command.md has the rule.
func fill(argv []template, values map[string]string) ([]string, error) {
	out := []string{}
	ended := false // there was a -- that the model did not write
	for _, t := range argv {
		text, absent := t.render(values)
		if absent {
			continue
		}
		if strings.ContainsRune(text, 0) {
			return nil, errors.New("an argument of a program cannot hold a zero byte; write it without")
		}
		p, leads := t.leading(values)
		if leads && !p.dash && !ended && strings.HasPrefix(text, "-") {
			return nil, fmt.Errorf("the value of %q begins with -, and could be taken for an option; write one that does not", p.param)
		}
		ended = ended || len(t) == 1 && t[0].text == "--"
		out = append(out, text)
	}
	return out, nil
}
