// Package form makes a form of a tool's parameters, so that people can change the
// arguments of a call without writing JSON, and reads the filled-in form.
//
// A form must not say less than the arguments do. Some arguments become one area of
// JSON instead: nested parameters, arguments beyond the named parameters, values with
// invisible characters, and forms too large for a platform. Another process may read
// the form, so each field's id says how to read it back.
//
// It does not check the arguments; they are checked where the model's are.
package form

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"nod/chat"
)

// Kind is the kind of a field.
type Kind int

// The kinds of fields.
const (
	Line Kind = iota // a line of text, or a number
	Area             // a text of several lines
	Box              // ticked or not
	Menu             // one of a few values
)

// Field is one field of a form.
type Field struct {
	ID       string // minted here, see [Read]
	Label    string // the parameter's name
	About    string // the tool's description; may be empty
	Kind     Kind
	Required bool     // it must not be left empty
	Value    string   // its first value: a text, [Ticked], or the value of an option
	Options  []Option // of a Menu
}

// Option is a value of a menu.
type Option struct{ Label, Value string }

// Ticked is the value of a ticked box; an unticked one has "".
const Ticked = "true"

// AgainLabel is on the button that opens the form of a call of a turn that is over.
const AgainLabel = "Edit and run again"

// leftOut is the option of an argument that is not there.
const leftOut = "-"

// Bounds are a platform's limits; lengths are in UTF-16 units.
type Bounds struct {
	Fields  int
	ID      int // length of an id
	Label   int // length of a label
	Text    int // length of a text
	Options int
	Option  int // length of an option
	Title   int // length of the title
	Card    int // length of the arguments on a card, in whose writing; 0: any
}

// The first letters of a field's id say how to read the field back.
const (
	asText   = "s" // an empty one is left out
	asString = "S" // an empty one is an empty string
	asNumber = "n"
	asFlag   = "b" // an unticked one is left out
	asBool   = "B"
	asOption = "m"
	asJSON   = "j" // all arguments
)

// Of makes the form of a tool's parameters (a JSON Schema), filled in with arguments.
// It is empty if a platform has no room for them in any form.
func Of(parameters, arguments string, b Bounds) []Field {
	if fields, ok := fieldsOf(parameters, arguments, b); ok {
		return fields
	}
	var text bytes.Buffer
	if json.Indent(&text, []byte(arguments), "", "  ") != nil {
		return nil
	}
	f := Field{ID: asJSON, Label: "Arguments", About: "A JSON object", Kind: Area, Required: true, Value: chat.Exact(text.String())}
	if units(f.Value) > b.Text {
		f.Value = chat.Exact(arguments)
	}
	if units(f.Value) > b.Text {
		return nil
	}
	return []Field{f}
}

// schema is the part of a JSON Schema that a form can show.
type schema struct {
	Type       string            `json:"type"`
	About      string            `json:"description"`
	Enum       []json.RawMessage `json:"enum"`
	Longest    *int              `json:"maxLength"`
	Properties json.RawMessage   `json:"properties"`
	Required   []string          `json:"required"`
	Further    json.RawMessage   `json:"additionalProperties"`
}

// plainly are keywords of a schema that do not change the kind of a field. Other
// keywords are checked when the form is sent.
var plainly = []string{
	"type", "description", "enum", "maxLength", "properties", "required", "additionalProperties", "title", "default",
	"minLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "examples", "$schema",
}

// read takes a schema in; ok is false for one that says more.
func read(raw json.RawMessage) (s schema, ok bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || json.Unmarshal(raw, &s) != nil {
		return s, false
	}
	for keyword := range all {
		if !slices.Contains(plainly, keyword) {
			return s, false
		}
	}
	return s, true
}

// fieldsOf makes a field of each parameter; ok is false where that can't be done.
func fieldsOf(parameters, arguments string, b Bounds) ([]Field, bool) {
	root, ok := read(json.RawMessage(parameters))
	names, props := ordered(root.Properties)
	given, values := ordered(json.RawMessage(arguments))
	further := len(root.Further) > 0 && !slices.Contains([]string{"true", "false"}, string(root.Further))
	if !ok || root.Type != "object" || further || len(names) == 0 || len(names) > b.Fields {
		return nil, false
	}
	for _, name := range given {
		if props[name] == nil {
			return nil, false
		}
	}
	var out []Field
	for _, name := range names {
		f, ok := field(name, props[name], values[name], slices.Contains(root.Required, name))
		if !ok || !f.fits(b) {
			return nil, false
		}
		out = append(out, f)
	}
	return out, true
}

// field makes the field of a parameter; value is nil where it is left out.
func field(name string, raw, value json.RawMessage, required bool) (f Field, ok bool) {
	s, ok := read(raw)
	if !ok || s.Properties != nil || string(value) == "null" || chat.Exact(name) != name {
		return f, false
	}
	f = Field{Label: name, About: chat.Exact(strings.Join(strings.Fields(s.About), " ")), Required: required}
	switch {
	case s.Enum != nil:
		ok = f.menu(s.Enum, value)
	case s.Type == "boolean":
		ok = f.box(value)
	case s.Type == "string":
		ok = f.text(s, value)
	case s.Type == "integer" || s.Type == "number":
		f.ID, f.Value = asNumber+name, string(value)
		ok = value == nil || json.Unmarshal(value, new(json.Number)) == nil && value[0] != '"'
	default:
		ok = false
	}
	return f, ok
}

// longLine is from when on a text is written in an area.
const longLine = 100

func (f *Field) text(s schema, value json.RawMessage) bool {
	f.ID = asText + f.Label
	if value != nil && json.Unmarshal(value, &f.Value) != nil || chat.Exact(f.Value) != f.Value {
		return false
	}
	if f.Required || value != nil && f.Value == "" {
		f.ID, f.Required = asString+f.Label, false // an empty string is one, too
	}
	if strings.Contains(f.Value, "\n") || units(f.Value) > longLine || s.Longest != nil && *s.Longest > longLine {
		f.Kind = Area
	}
	return true
}

func (f *Field) box(value json.RawMessage) bool {
	f.Kind, f.ID = Box, asFlag+f.Label
	if f.Required || value != nil {
		f.ID = asBool + f.Label
	}
	f.Required = false
	if string(value) == "true" {
		f.Value = Ticked
	}
	return value == nil || string(value) == "true" || string(value) == "false"
}

func (f *Field) menu(values []json.RawMessage, value json.RawMessage) bool {
	f.Kind, f.ID = Menu, asOption+f.Label
	seen := map[string]bool{}
	if !f.Required {
		f.Options, f.Value = []Option{{"(left out)", leftOut}}, leftOut
		seen["(left out)"] = true
	}
	for _, raw := range values {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			return false
		}
		label := string(raw)
		switch v := v.(type) {
		case []any, map[string]any, nil:
			return false
		case string:
			if label = v; strings.TrimSpace(v) == "" {
				label = strconv.Quote(v)
			}
		}
		if seen[label] || chat.Exact(label) != label {
			return false
		}
		seen[label] = true
		f.Options = append(f.Options, Option{label, compact(raw)})
	}
	if value != nil {
		f.Value = compact(value)
	}
	return slices.ContainsFunc(f.Options, func(o Option) bool { return o.Value == f.Value }) || f.Value == "" && f.Required
}

// compact is a value in the form in which two that are written alike compare
// equal: strings with no needless escapes.
func compact(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if out, why := quoted(text); why == "" {
			return string(out)
		}
	}
	return string(bytes.TrimSpace(raw))
}

func (f Field) fits(b Bounds) bool {
	for _, o := range f.Options {
		if units(o.Label) > b.Option || units(o.Value) > b.Option {
			return false
		}
	}
	return units(f.ID) <= b.ID && units(f.Label) <= b.Label && units(f.Value) <= b.Text && len(f.Options) <= b.Options && len(f.Label) > 0
}

// ordered reads an object in its written order; nothing if it is no object, or has a
// name twice.
func ordered(raw json.RawMessage) ([]string, map[string]json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil
	}
	var names []string
	values := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || values[name] != nil || d.Decode(&value) != nil {
			return nil, nil
		}
		names, values[name] = append(names, name), value
	}
	return names, values
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }
