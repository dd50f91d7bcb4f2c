package mcp

import (
	"slices"
	"testing"
)

// Where a tool sends something is found by itself, and what the configuration says
// replaces that.
func TestSends(t *testing.T) {
	t.Parallel()
	page := `{"type":"object","properties":{"url":{"type":"string","format":"uri"},"depth":{"type":"integer"},"text":{"type":"string"},"how":{"enum":["a","b"]}}}`
	deep := `{"type":"object","$defs":{"a":{"type":"object","properties":{"u":{"$ref":"#/$defs/u"}}},"u":{"type":"string","format":"iri"}},"properties":{"all":{"type":"array","items":{"$ref":"#/$defs/a"}},"text":{"type":"string"}}}`
	loop := `{"type":"object","$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}},"properties":{"tree":{"$ref":"#/$defs/a"}}}`
	either := `{"anyOf":[{"type":"object","properties":{"url":{"type":"string","format":"uri"}}},{"type":"object","properties":{"id":{"type":"string"}}}]}`
	tests := []struct {
		name, schema string
		hints        *Hints
		cfg          map[string][]string
		want         []string
	}{
		{"an address", page, nil, nil, []string{"url"}},
		{"an address deep within", deep, nil, nil, []string{"all"}},
		{"without an end", loop, nil, nil, []string{"tree"}},
		{"an address of one form", either, nil, nil, []string{"url"}},
		{"an open world", page, &Hints{OpenWorld: yes()}, nil, []string{"text", "url", "*"}},
		{"an open world, and all is named", `{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}`, &Hints{OpenWorld: yes()}, nil, []string{"text"}},
		{"an open world, and names of some form", `{"type":"object","patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, &Hints{OpenWorld: yes()}, nil, []string{"*"}},
		{"an open world, and nothing is named", `{"type":"object"}`, &Hints{OpenWorld: yes()}, nil, []string{"*"}},
		{"a closed one", page, &Hints{OpenWorld: no()}, nil, []string{"url"}},
		{"nothing is said of the world", page, &Hints{}, nil, []string{"url"}},
		{"the file says more", page, nil, map[string][]string{"x": {"text"}, "*": {"url", "text"}}, []string{"text", "url"}},
		{"the file says nothing goes out", page, &Hints{OpenWorld: yes()}, map[string][]string{"x": {}}, nil},
		{"the file speaks of others", page, nil, map[string][]string{"y*": {}}, []string{"url"}},
	}
	for _, tt := range tests {
		got, undeclared := Server{Sends: tt.cfg}.sends(Definition{Name: "x", Parameters: []byte(tt.schema), Hints: tt.hints})
		if !slices.Equal(got, tt.want) || undeclared != (tt.cfg["x"] == nil) {
			t.Errorf("%s: %q, want %q; undeclared: %v", tt.name, got, tt.want, undeclared)
		}
	}
}
