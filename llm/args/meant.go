package args

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Meant reads arguments as models mean them, where the schema refuses them as written. A
// null (also as a text), an empty text, list or object means no value, unless the name is
// required. A text that holds an object or a list is that. Other arguments come back unchanged.
func (s *Schema) Meant(args json.RawMessage) json.RawMessage {
	root, err := decode(args)
	if s == nil || err != nil || inspect(args) != nil {
		return args
	}
	wrong := s.wrong(root)
	n, changed := len(wrong), false
	for _, at := range wrong[:min(n, maxViolations)] {
		object, name := holder(root, at)
		old, ok := object[name]
		if !ok {
			continue
		}
		better := func() bool {
			now := len(s.wrong(root))
			if now >= n {
				object[name] = old
				return false
			}
			n, changed = now, true
			return true
		}
		inner, held := embedded(old)
		if object[name] = inner; held && better() {
			continue
		}
		if object[name] = old; isEmpty(old) || held && isEmpty(inner) {
			delete(object, name)
			better()
		}
	}
	if out, err := encode(root); changed && err == nil {
		return out
	}
	return args
}

// wrong lists the places of all that the schema refuses.
func (s *Schema) wrong(value any) [][]string {
	var e *jsonschema.ValidationError
	if !errors.As(s.validate(value), &e) {
		return nil
	}
	return places(e)
}

func places(e *jsonschema.ValidationError) (out [][]string) {
	if k, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		for _, name := range k.Properties {
			out = append(out, slices.Concat(e.InstanceLocation, []string{name}))
		}
		return out
	}
	if len(e.Causes) == 0 {
		return [][]string{e.InstanceLocation}
	}
	for _, cause := range e.Causes {
		out = append(out, places(cause)...)
	}
	return out
}

// holder is the object at which a path ends, and the name there; nil where it ends in a
// list.
func holder(root any, at []string) (object map[string]any, name string) {
	for i, part := range at {
		object, _ = root.(map[string]any)
		if i == len(at)-1 {
			return object, part
		}
		if list, ok := root.([]any); ok {
			n, _ := strconv.Atoi(part) // the validator's own index
			root = list[n]
			continue
		}
		root = object[part]
	}
	return nil, ""
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == "" || v == "null"
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// embedded is the object or the list that a text holds, and nothing else.
func embedded(value any) (inner any, ok bool) {
	text, _ := value.(string)
	raw := []byte(strings.TrimSpace(text))
	if again := ""; beginsWith(text, `"`) && !halved(raw) && json.Unmarshal(raw, &again) == nil && len(again) < len(text) {
		return embedded(again)
	}
	if !beginsWith(text, "{[") || !json.Valid(raw) || halved(raw) || inspect(raw) != nil {
		return nil, false
	}
	inner, err := decode(raw)
	return inner, err == nil
}
