package args

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Providers refuse a function whose parameters are composed at their top, and with
// it the whole request, so every turn of every thread. So what is composed there is
// written as one object with all properties. That takes more than the schema does;
// what is too much, the server refuses.

// mostNesting is how deep compositions and references at the top may lie in one
// another.
const mostNesting = 8

var errUnflattened = errors.New("its parameters are composed at their top in a way that no provider takes")

// Flatten brings the top of a schema into that form, where it is composed.
func Flatten(root map[string]any) error {
	if !composed(root) {
		return nil
	}
	f := flattening{root: root, properties: map[string]any{}}
	required, err := f.add(root, 0)
	if err != nil {
		return err
	}
	maps.DeleteFunc(root, func(key string, _ any) bool { return slices.Contains(composing, key) })
	root["type"], root["properties"] = "object", f.properties
	delete(root, "required")
	if len(required) > 0 {
		slices.Sort(required)
		var list []any
		for _, name := range slices.Compact(required) {
			list = append(list, name)
		}
		root["required"] = list
	}
	return nil
}

// composing are the keys of a schema that is not merely an object with properties.
var composing = []string{"allOf", "anyOf", "oneOf", "not", "enum", "const", "$ref", "if", "then", "else"}

func composed(root map[string]any) bool {
	return slices.ContainsFunc(composing, func(key string) bool { _, ok := root[key]; return ok })
}

// flattening collects the properties of a schema and its parts.
type flattening struct {
	root       map[string]any
	properties map[string]any
}

// add adds a schema and returns its required names.
func (f *flattening) add(schema map[string]any, depth int) (required []string, err error) {
	if depth > mostNesting {
		return nil, errUnflattened
	}
	if t, ok := schema["type"]; ok && t != "object" {
		return nil, errUnflattened
	}
	if ref, ok := schema["$ref"].(string); ok {
		target, err := f.find(ref)
		if err != nil {
			return nil, err
		}
		if required, err = f.add(target, depth+1); err != nil {
			return nil, err
		}
	}
	own, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		f.property(name, own[name])
	}
	names, _ := schema["required"].([]any)
	for _, name := range names {
		if text, ok := name.(string); ok {
			required = append(required, text)
		}
	}
	all, err := f.branches(schema["allOf"], depth)
	for _, branch := range all {
		required = append(required, branch...)
	}
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		some, err := f.branches(schema[key], depth)
		if err != nil {
			return nil, err
		}
		required = append(required, common(some)...)
	}
	return required, nil
}

// branches adds each of several schemas and returns the required names of each. One
// that is no object (null, for omitted arguments) has none.
func (f *flattening) branches(list any, depth int) (required [][]string, err error) {
	items, _ := list.([]any)
	for _, item := range items {
		branch, ok := item.(map[string]any)
		if !ok {
			return nil, errUnflattened
		}
		if t, ok := branch["type"]; ok && t != "object" {
			continue
		}
		one, err := f.add(branch, depth+1)
		if err != nil {
			return nil, err
		}
		required = append(required, one)
	}
	return required, nil
}

// property takes in a property. Where two branches have one of that name, either
// form will do.
func (f *flattening) property(name string, schema any) {
	was, ok := f.properties[name]
	if !ok {
		f.properties[name] = schema
		return
	}
	if same(was, schema) {
		return
	}
	if either, ok := was.(map[string]any); ok && len(either) == 1 {
		if list, ok := either["anyOf"].([]any); ok {
			if !slices.ContainsFunc(list, func(one any) bool { return same(one, schema) }) {
				either["anyOf"] = append(list, schema)
			}
			return
		}
	}
	f.properties[name] = map[string]any{"anyOf": []any{was, schema}}
}

func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// find resolves a reference within the schema.
func (f *flattening) find(ref string) (map[string]any, error) {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, errUnflattened
	}
	at := f.root
	for part := range strings.SplitSeq(path, "/") {
		next, ok := at[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)].(map[string]any)
		if !ok {
			return nil, errUnflattened
		}
		at = next
	}
	return at, nil
}

// common are the names that stand in every list.
func common(lists [][]string) []string {
	if len(lists) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(lists[0]), func(name string) bool {
		return slices.ContainsFunc(lists[1:], func(l []string) bool { return !slices.Contains(l, name) })
	})
}
