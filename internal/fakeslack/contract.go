package fakeslack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// contract is the published description of a method's arguments, as far as the
// fake compares calls with it.
type contract struct {
	Args argument `json:"args"`
}

// argument is the type of an argument, or of something inside of one.
type argument struct {
	Type       string              `json:"type"`
	Enum       []string            `json:"enum"`
	AnyOf      []argument          `json:"anyOf"`
	Items      *argument           `json:"items"`
	Required   []string            `json:"required"`
	Properties map[string]argument `json:"properties"`
	MinItems   int                 `json:"minItems"`
	MaxItems   int                 `json:"maxItems"`
	MinLength  int                 `json:"minLength"`
	MaxLength  int                 `json:"maxLength"`
	Minimum    *float64            `json:"minimum"`
	Maximum    *float64            `json:"maximum"`
}

// optional lists arguments that the descriptions wrongly call required.
var optional = map[string][]string{"chat.appendStream": {"markdown_text"}}

// loadContracts reads the descriptions: of the folder, or those beside the checkout, or
// none.
func loadContracts(dir string) (map[string]contract, error) {
	if dir == "" {
		dir = besideCheckout()
	}
	if dir == "" {
		return nil, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("find method descriptions: %w", err)
	}
	out := map[string]contract{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("read method description: %w", err)
		}
		var c contract
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("read method description %s: %w", filepath.Base(f), err)
		}
		method := strings.TrimSuffix(filepath.Base(f), ".json")
		c.Args.Required = slices.DeleteFunc(c.Args.Required, func(name string) bool {
			return name == "token" || slices.Contains(optional[method], name)
		})
		out[method] = c
	}
	return out, nil
}

// besideCheckout is the folder of descriptions beside the module; empty if there is
// none.
func besideCheckout() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, found := os.Stat(filepath.Join(dir, "go.mod")); found == nil {
			at := filepath.Join(dir, "..", "shared", "contracts", "slack-methods")
			if info, err := os.Stat(at); err == nil && info.IsDir() {
				return at
			}
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// check says what is wrong with a call's arguments.
func (k contract) check(c *call) []string {
	if k.Args.Properties == nil {
		return nil
	}
	var wrong []string
	for _, name := range k.Args.Required {
		if _, ok := c.args[name]; !ok {
			wrong = append(wrong, "missing argument "+name)
		}
	}
	for name, value := range c.args {
		arg, ok := k.Args.Properties[name]
		if !ok {
			wrong = append(wrong, "unknown argument "+name)
			continue
		}
		raw, typed := c.json[name]
		if !typed {
			raw = fromForm(arg, value)
		}
		if problem := arg.check(raw); problem != "" {
			wrong = append(wrong, "argument "+name+": "+problem)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// fromForm gives the JSON that a form's text stands for, given its type.
func fromForm(arg argument, text string) json.RawMessage {
	switch arg.Type {
	case "array", "object":
		if json.Valid([]byte(text)) {
			return json.RawMessage(text)
		}
		if arg.Items != nil && arg.Items.Type == "string" { // words parted by commas
			list, _ := json.Marshal(strings.Split(text, ",")) // strings always marshal
			return list
		}
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "1":
			return json.RawMessage("true")
		case "false", "0":
			return json.RawMessage("false")
		}
	case "integer", "number":
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return json.RawMessage(text)
		}
	}
	quoted, _ := json.Marshal(text) // a string always marshals
	return quoted
}

func (a argument) check(raw json.RawMessage) string {
	if len(a.AnyOf) > 0 {
		var problem string
		for _, one := range a.AnyOf {
			if problem = one.check(raw); problem == "" {
				return ""
			}
		}
		return problem
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "not JSON"
	}
	switch a.Type {
	case "string":
		return a.checkString(v)
	case "boolean":
		if _, ok := v.(bool); !ok {
			return "not a boolean"
		}
	case "integer", "number":
		return a.checkNumber(v)
	case "null":
		if v != nil {
			return "not null"
		}
	case "array":
		return a.checkArray(raw)
	case "object":
		return a.checkObject(raw)
	}
	return ""
}

func (a argument) checkString(v any) string {
	str, ok := v.(string)
	if !ok {
		// A JSON body may hold blocks and metadata as JSON rather than as a string of it.
		switch v.(type) {
		case map[string]any, []any:
			return ""
		}
		return "not a string"
	}
	if n := utf8.RuneCountInString(str); n < a.MinLength || a.MaxLength > 0 && n > a.MaxLength {
		return fmt.Sprintf("has %d characters", n)
	}
	if len(a.Enum) > 0 && !slices.Contains(a.Enum, str) {
		return fmt.Sprintf("%q is not one of %s", str, strings.Join(a.Enum, ", "))
	}
	return ""
}

func (a argument) checkNumber(v any) string {
	n, ok := v.(float64)
	switch {
	case !ok, a.Type == "integer" && n != float64(int64(n)):
		return "not a number of type " + a.Type
	case a.Minimum != nil && n < *a.Minimum, a.Maximum != nil && n > *a.Maximum:
		return fmt.Sprintf("%v is out of range", n)
	}
	return ""
}

func (a argument) checkArray(raw json.RawMessage) string {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return "not an array"
	}
	if n := len(items); n < a.MinItems || a.MaxItems > 0 && n > a.MaxItems {
		return fmt.Sprintf("has %d items", n)
	}
	for i, item := range items {
		if a.Items == nil {
			break
		}
		if problem := a.Items.check(item); problem != "" {
			return fmt.Sprintf("item %d: %s", i, problem)
		}
	}
	return ""
}

func (a argument) checkObject(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return "not an object"
	}
	for _, name := range a.Required {
		if _, ok := fields[name]; !ok {
			return "has no " + name
		}
	}
	for name, value := range fields {
		arg, ok := a.Properties[name]
		if !ok {
			continue
		}
		if problem := arg.check(value); problem != "" {
			return name + ": " + problem
		}
	}
	return ""
}
