package config

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"

	"nod/setting"
	"nod/tools"
)

// reference to the environment or a file, for values that are not texts.
const envPattern = `\$\{([A-Za-z_][A-Za-z0-9_]*|file:[^}]+)\}`

// Schema gives the JSON Schema (draft 2020-12) of the file, for editors. It is
// made of the same structs that the file is decoded into; rules that span
// several keys are for Load alone.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		Anonymous:                  true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true, // of which there are none: see narrow
		ExpandedStruct:             true,
		Mapper:                     mapped,
		LookupComment:              fieldDoc,
		Namer:                      definition,
	}
	s := r.Reflect(&Config{})
	s.Title = "Configuration of nod"
	narrow(s, reflect.TypeFor[Config](), s.Definitions, map[reflect.Type]bool{})
	for _, d := range s.Definitions {
		nullable(d, s.Definitions)
	}
	nullable(s, s.Definitions)
	s.Definitions["MCP"].OneOf = []*jsonschema.Schema{{Required: []string{"url"}}, {Required: []string{"command"}}}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return append(out, '\n'), nil
}

// definition is the name of a type in the schema: of a built-in tool's section, its
// package's.
func definition(t reflect.Type) string {
	if !strings.Contains(t.Name(), "[") {
		return t.Name()
	}
	keys, _ := t.FieldByName("Keys")
	return path.Base(keys.Type.PkgPath())
}

// fieldDoc is the description of a field; types have none.
func fieldDoc(t reflect.Type, field string) string {
	if t.Kind() != reflect.Struct || field == "" {
		return ""
	}
	f, _ := t.FieldByName(field)
	return f.Tag.Get("doc")
}

// mapped gives the schema of types that are written as scalars.
func mapped(t reflect.Type) *jsonschema.Schema {
	text := func(pattern string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: pattern + "|" + envPattern}
	}
	switch t {
	case typeDuration:
		return either(text(`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+)$`), &jsonschema.Schema{Const: 0})
	case typeRaw:
		return &jsonschema.Schema{Type: "object"}
	case typeSecret:
		return textual()
	case typeRisks:
		risk := mapped(reflect.TypeFor[tools.Risk]())
		return either(risk, &jsonschema.Schema{Type: "object", AdditionalProperties: risk})
	case typeStore:
		return text(storePattern)
	case reflect.TypeFor[setting.Size]():
		return text(`^[0-9]+ ?([KMGT]i?B|B)$`)
	case reflect.TypeFor[Amount]():
		return either(text(`^\$[0-9]+(\.[0-9]*)?$`), &jsonschema.Schema{Type: "integer", Minimum: "1"})
	case reflect.TypeFor[Day]():
		return text(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	case reflect.TypeFor[Shards]():
		return either(text(`^auto$`), &jsonschema.Schema{Type: "integer", Minimum: "1"})
	case reflect.TypeFor[Images]():
		return either(text(`^auto$`), &jsonschema.Schema{Type: "boolean"})
	case reflect.TypeFor[Exclude]():
		return either(text(`^thread$`), &jsonschema.Schema{Type: "boolean"})
	}
	if w, ok := reflect.Zero(t).Interface().(word); ok {
		enum := &jsonschema.Schema{Type: "string"}
		for _, one := range w.Allowed() {
			enum.Enum = append(enum.Enum, one)
		}
		return either(enum, fromEnvironment())
	}
	switch t.Kind() {
	case reflect.String:
		return textual()
	case reflect.Bool:
		return either(&jsonschema.Schema{Type: "boolean"}, fromEnvironment())
	case reflect.Int:
		return either(&jsonschema.Schema{Type: "integer"}, fromEnvironment())
	case reflect.Float64:
		return either(&jsonschema.Schema{Type: "number"}, fromEnvironment())
	}
	return nil
}

// storePattern is Store's text, as far as a pattern can tell.
const storePattern = `^sqlite:(/?[^/:~?#][^?#]*|/)$` +
	`|^rediss?://([^@/\s]*@)?[^@/,\s]+:[1-9][0-9]*(/[0-9]*)?(\?[^#]*)?$` +
	`|^rediss?\+cluster://([^@/\s]*@)?[^@/,\s]+:[1-9][0-9]*(,[^@/,\s]+:[1-9][0-9]*)*(/0?)?(\?[^#]*)?$` +
	`|^rediss?\+sentinel://([^@/\s]*@)?[^@/,\s]+:[1-9][0-9]*(,[^@/,\s]+:[1-9][0-9]*)*/[^/?#@:\s]+(/[0-9]*)?(\?[^#]*)?$`

// textual is a text, or a number as it is written: ids often are numbers.
func textual() *jsonschema.Schema {
	return either(&jsonschema.Schema{Type: "string"}, &jsonschema.Schema{Type: "number"})
}

func either(a, b *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{a, b}}
}

func fromEnvironment() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: envPattern}
}
