package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"nod/setting"
	"nod/tools"
	"nod/tools/mcp"
)

const (
	// maxNodes is how many values a file may have once its aliases are
	// followed. A few lines whose aliases repeat each other would be billions.
	maxNodes = 20_000
	// maxDepth is how deep values may nest; an alias of itself nests for ever.
	maxDepth = 60
)

// decoder turns a tree of nodes into structs. The library's decoder lacks the dotted
// path of a mistake, and its messages repeat the value.
type decoder struct {
	*report
	env     *environment
	visited int                 // values so far
	depth   int                 // of the present one
	tooMuch bool                // that was reported
	section *Approvals          // the base of a tool's own approvals
	first   *LLM                // the base of the other models
	names   map[string][]string // of the environment, by the key that uses them
	secret  []string            // of those, whose value is a secret of the bot's own
}

var (
	typeDuration = reflect.TypeFor[time.Duration]()
	typeRaw      = reflect.TypeFor[json.RawMessage]()
	typeSecret   = reflect.TypeFor[setting.Secret]()
	typeStore    = reflect.TypeFor[Store]()
	typeRisks    = reflect.TypeFor[mcp.Risks]()
)

// value decodes a node into v, which holds the default. Null leaves it so.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	n, leave := d.enter(n, path)
	if n == nil {
		return
	}
	defer leave()
	switch {
	case v.Kind() == reflect.Pointer:
		d.pointer(n, v, path)
	case d.isNull(n):
		d.emptySecret(n, v, path)
	case v.Type() == typeRaw:
		d.raw(n, v, path)
	case v.Type() == typeRisks && n.Kind == yaml.ScalarNode:
		var all tools.Risk
		d.scalar(n, reflect.ValueOf(&all).Elem(), path)
		v.Set(reflect.ValueOf(mcp.Risks{"*": all}))
	case isScalar(v):
		d.scalar(n, v, path)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, path)
	case v.Kind() == reflect.Map:
		d.table(n, v, path)
	default:
		d.list(n, v, path)
	}
}

// enter resolves an alias, and refuses trees that are endless or far larger than the
// file. The caller calls leave at the end.
func (d *decoder) enter(n *yaml.Node, path string) (target *yaml.Node, leave func()) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.visited++
	if d.visited > maxNodes || d.depth >= maxDepth {
		if !d.tooMuch {
			d.add(n.Line, path, "nests or repeats too much, by aliases (*name) or by itself; write the values out")
		}
		d.tooMuch = true
		return nil, nil
	}
	if strings.HasPrefix(n.ShortTag(), "!!") && n.ShortTag() != "!!binary" {
		d.depth++
		return n, func() { d.depth-- }
	}
	d.add(n.Line, path, "has a tag of YAML's (a word with !); remove it, or put the text in quotes")
	return nil, nil
}

// isNull says whether a value was left out. A value of the environment is, when
// it is empty; that it reads "null" is a coincidence.
func (d *decoder) isNull(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	if x, ok := d.env.found[n]; ok {
		return n.Value == "" && len(x.missing) == 0 && !x.malformed
	}
	return n.ShortTag() == "!!null"
}

// emptySecret refuses a secret that a variable without a value takes away.
func (d *decoder) emptySecret(n *yaml.Node, v reflect.Value, path string) {
	x, ok := d.env.found[n]
	if !ok || v.Type() != typeSecret {
		return
	}
	if d.env.lenient {
		d.doubts[path] = true
		return
	}
	d.add(n.Line, path, "${%s} is empty in the environment; set it or remove the line", x.names[0])
}

// isScalar says whether a type is written as a scalar.
func isScalar(v reflect.Value) bool {
	if _, ok := v.Addr().Interface().(texter); ok || v.Type() == typeSecret {
		return true
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice:
		return false
	}
	return true
}

// pointer decodes an optional value. A section without keys is on, with its defaults; a
// missing value is absent.
func (d *decoder) pointer(n *yaml.Node, v reflect.Value, path string) {
	p := d.fresh(v.Type().Elem())
	if d.isNull(n) {
		if isScalar(p.Elem()) {
			return
		}
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: n.Line}
	}
	d.value(n, p.Elem(), path)
	v.Set(p)
}

// fresh makes a pointer to a value with its defaults.
func (d *decoder) fresh(t reflect.Type) reflect.Value {
	p := reflect.New(t)
	fill(p.Elem(), *d.section)
	if m, ok := p.Interface().(*Named); ok {
		m.Endpoint = d.first.Endpoint
		m.Fallback = nil
	}
	return p
}

// mapping decodes a section. Its fields are decoded in the order of the
// struct, not of the file: the approvals come before the tools that refine
// them.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	known := fieldsOf(v.Type())
	pairs := map[string]pair{}
	for _, p := range d.pairs(n, path) {
		pairs[p.key] = p
		if !slices.Contains(known.keys, p.key) {
			d.add(p.line, join(path, shown(p.key)), "%s", unknownKey(p.key, known.keys))
		}
	}
	for i, key := range known.keys {
		field, full := v.FieldByIndex(known.fields[i].Index), join(path, key)
		p, written := pairs[key]
		if written {
			d.lines[full] = p.line
			d.value(p.value, field, full)
		}
		if what, must := known.demand(i, v); must && !d.tooMuch && isMissing(field, written) {
			d.at(full, "is missing; write %s", what)
		}
		d.hold(known.fields[i].Tag, field, full, written)
	}
}

// fields are the keys of a section and their fields, in the order of its struct.
type fields struct {
	keys   []string
	fields []reflect.StructField
}

// fieldsOf lists the fields that have a key, those of inline structs too.
func fieldsOf(t reflect.Type) (out fields) {
	for f := range t.Fields() {
		key, how, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case how == "inline":
			inner := fieldsOf(f.Type)
			for i, g := range inner.fields {
				inner.fields[i].Index = append(slices.Clone(f.Index), g.Index...)
			}
			out.keys, out.fields = append(out.keys, inner.keys...), append(out.fields, inner.fields...)
		case key != "":
			out.keys, out.fields = append(out.keys, key), append(out.fields, f)
		}
	}
	return out
}

// table decodes a map from words to scalars.
func (d *decoder) table(n *yaml.Node, v reflect.Value, path string) {
	out := reflect.MakeMap(v.Type())
	for _, p := range d.pairs(n, path) {
		key := join(path, shown(p.key))
		if isName.MatchString(p.key) {
			key = join(path, p.key)
		}
		d.lines[key] = p.line
		elem := reflect.New(v.Type().Elem()).Elem()
		d.value(p.value, elem, key)
		out.SetMapIndex(reflect.ValueOf(p.key), elem)
	}
	v.Set(out)
}

// list decodes a list, which takes the place of the default one.
func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.add(n.Line, path, "must be a list: write [a, b], or one item a line after a -")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		key := item(path, i)
		d.lines[key] = c.Line
		elem := d.fresh(v.Type().Elem()).Elem()
		if t := c; t.Kind == yaml.ScalarNode && d.isNull(t) {
			d.add(c.Line, key, "is empty; write a value or remove the item")
		}
		d.value(c, elem, key)
		out.Index(i).Set(elem)
	}
	v.Set(out)
}
