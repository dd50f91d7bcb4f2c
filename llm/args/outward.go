package args

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Outward lists the parameters of a schema whose values can name a place outside: those
// with an address in them. In an open world all are, except small ones: numbers, yes or no,
// a choice of a list; rest says that the schema takes parameters that it does not name.
func Outward(schema json.RawMessage, open bool) (names []string, rest bool, err error) {
	var root map[string]any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, false, err
	}
	f := flattening{root: root, properties: map[string]any{}}
	if _, err := f.add(root, 0); err != nil {
		return nil, false, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.properties)) {
		if f.addressed(f.properties[name], 0) || open && wide(f.properties[name]) {
			names = append(names, name)
		}
	}
	return names, open && !closed(root), nil
}

// closed says whether a schema takes no parameters but those that it names.
func closed(root map[string]any) bool {
	others, said := root["additionalProperties"].(bool)
	return said && !others && root["patternProperties"] == nil
}

// wide says whether a value of a schema can carry a text.
func wide(schema any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if s["enum"] != nil || s["const"] != nil {
		return false
	}
	kind, _ := s["type"].(string)
	return kind != "integer" && kind != "number" && kind != "boolean" && kind != "null"
}

// mostDeep limits the depth; a deeper value counts as an address.
const mostDeep = 20

// addressed says whether a value of a schema can be an address.
func (f *flattening) addressed(schema any, depth int) bool {
	if depth > mostDeep {
		return true
	}
	switch s := schema.(type) {
	case []any:
		return slices.ContainsFunc(s, func(v any) bool { return f.addressed(v, depth+1) })
	case map[string]any:
		if format, _ := s["format"].(string); strings.HasPrefix(format, "uri") || strings.HasPrefix(format, "iri") || format == "url" {
			return true
		}
		ref, _ := s["$ref"].(string)
		if target, err := f.find(ref); err == nil && f.addressed(target, depth+1) {
			return true
		}
		for _, v := range s {
			if f.addressed(v, depth+1) {
				return true
			}
		}
	}
	return false
}
