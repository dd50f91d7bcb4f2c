package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is the form of a tool's arguments. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	names    []string // the parameters, sorted
	single   string   // the one string parameter that bare text is for
	needed   bool     // whether it is required
}

// maxViolations is how many violations the model is told of at once.
const maxViolations = 20

// Compile reads a JSON Schema (2020-12 unless it says otherwise). An empty one
// takes any object. References outside the document are refused: a schema may
// come from a server that nobody trusts, and must not read files or call
// addresses. A pattern is Go's, or else ECMAScript's (a look-ahead, say); one that
// is neither refuses the schema, since nothing could hold a value to it. Formats
// that are known are checked.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(bytes.TrimSpace(raw)) == 0 || bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		raw = json.RawMessage(`{"type":"object"}`)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	if err := inspect(raw); err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, errors.New("read JSON Schema: it must be an object")
	}
	if t, ok := root["type"]; ok && t != "object" {
		return nil, fmt.Errorf("read JSON Schema: its type must be object, since arguments are one; it is %v", t)
	}
	compiled, err := compile(root)
	if err != nil {
		return nil, err
	}
	s := &Schema{compiled: compiled}
	s.readParameters(root)
	return s, nil
}

// sealed is a loader that loads nothing.
type sealed struct{}

func (sealed) Load(string) (any, error) {
	return nil, errors.New("references outside the schema are not allowed")
}

func compile(root map[string]any) (*jsonschema.Schema, error) {
	// A hierarchical address, so that relative references lead out of the document.
	const self = "nod:///parameters"
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(sealed{})
	readable := true // every pattern
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) {
		re, err := compilePattern(pattern)
		readable = readable && err == nil
		return re, err
	})
	c.AssertFormat()
	if err := c.AddResource(self, root); err != nil {
		return nil, fmt.Errorf("compile JSON Schema: %w", err)
	}
	s, err := c.Compile(self)
	var invalid *jsonschema.SchemaValidationError
	var violations *jsonschema.ValidationError
	if !readable {
		return nil, fmt.Errorf("compile JSON Schema: %w", ErrPattern)
	}
	if errors.As(err, &invalid) && errors.As(invalid.Err, &violations) {
		return nil, fmt.Errorf("compile JSON Schema: %w", invalidSchema{invalid, strings.Join((*Schema)(nil).describe(violations), "; ")})
	}
	if err != nil {
		return nil, fmt.Errorf("compile JSON Schema: %w", err)
	}
	return s, nil
}

// invalidSchema is an error of the library in our words.
type invalidSchema struct {
	error
	words string
}

func (e invalidSchema) Error() string { return e.words }
func (e invalidSchema) Unwrap() error { return e.error }

func (s *Schema) readParameters(root map[string]any) {
	properties, _ := root["properties"].(map[string]any)
	required, _ := root["required"].([]any)
	s.names = slices.Sorted(maps.Keys(properties))
	s.needed = len(required) > 0
	var candidate string
	switch {
	case len(required) == 1:
		candidate, _ = required[0].(string)
	case len(required) == 0 && len(s.names) == 1:
		candidate = s.names[0]
	}
	if property, ok := properties[candidate].(map[string]any); ok && property["type"] == "string" {
		s.single = candidate
	}
}

// bare names the parameter that text without JSON is the value of: the only
// required one, or the only one, if it is a string. required says whether the
// tool cannot be called without arguments.
func (s *Schema) bare() (name string, required bool) {
	if s == nil {
		return "", false
	}
	return s.single, s.needed
}

// Check returns every difference between the arguments and the schema, in words for the
// model, as `/service: must be one of "api", "web"`. Numbers are compared exactly,
// however large.
func (s *Schema) Check(args json.RawMessage) []string {
	if err := inspect(args); err != nil {
		return []string{err.Error()}
	}
	value, err := decode(args)
	if err != nil {
		return []string{describe(err).Error()}
	}
	err = s.validate(value)
	if err == nil {
		return nil
	}
	var violations *jsonschema.ValidationError
	if !errors.As(err, &violations) {
		return []string{err.Error()}
	}
	out := s.describe(violations)
	slices.Sort(out)
	out = slices.Compact(out)
	if n := len(out) - maxViolations; n > 0 {
		out = append(out[:maxViolations], fmt.Sprintf("and %d more", n))
	}
	return out
}
