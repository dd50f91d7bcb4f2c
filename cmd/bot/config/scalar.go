package config

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"nod/setting"
)

// scalar decodes one value of a line.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.add(n.Line, path, "must be one value, not a list or a section")
		return
	}
	known := d.known(n, path)
	if t := v.Type(); (t == typeSecret || t == typeStore) && !strings.HasPrefix(path, "tools.mcp") {
		d.secret = append(d.secret, d.names[path]...)
	}
	if !known {
		return
	}
	if v.Type() == typeSecret && bareName.MatchString(n.Value) {
		d.add(n.Line, path, "ends in a name behind a $ without braces, which stays as it is; write ${NAME}")
		return
	}
	if problem := d.setScalar(n, v); problem != "" {
		d.add(n.Line, path, "%s", problem)
	}
}

// bareName matches a shell's way to name the environment.
var bareName = regexp.MustCompile(`(^| )\$[A-Z][A-Z0-9_]+$`)

// known reports unset names of the environment in a value. It says whether the value is
// the file's.
func (d *decoder) known(n *yaml.Node, path string) bool {
	x, ok := d.env.found[n]
	if !ok {
		return true
	}
	d.names[path] = append(d.names[path], x.names...)
	if x.malformed {
		d.add(n.Line, path, "has a ${ that is not ${NAME} or ${file:PATH}; write that, or $${ for a ${ that stays")
	}
	if d.env.lenient && len(x.missing) > 0 && !slices.Contains(d.env.needs, path) {
		d.doubts[path] = true
	} else {
		for _, name := range slices.Sorted(maps.Keys(x.missing)) {
			d.add(d.env.line(n.Line, name), path, "${%s} %s", name, x.missing[name])
		}
	}
	return !x.malformed && len(x.missing) == 0
}

// setScalar reads the text of a node as the type of v wants it.
func (d *decoder) setScalar(n *yaml.Node, v reflect.Value) (problem string) {
	switch p := v.Addr().Interface().(type) {
	case texter:
		return p.SetText(n.Value)
	case *setting.Secret:
		*p = setting.NewSecret(n.Value)
		return ""
	case *time.Duration:
		*p, problem = duration(n.Value)
		return problem
	}
	if w, ok := v.Interface().(word); ok {
		if allowed := w.Allowed(); !slices.Contains(allowed, n.Value) {
			return "must be " + choices(allowed) + didYouMean(n.Value, allowed)
		}
		v.SetString(n.Value)
		return ""
	}
	_, expanded := d.env.found[n]
	quoted := n.ShortTag() == "!!str" && !expanded // quotes around ${PORT} don't make it a text
	switch v.Kind() {
	case reflect.String: // also a number as it is written, as ids often are
		if !expanded && n.ShortTag() == "!!bool" { // it is most likely in the wrong place
			return "must be a text; put it in quotes"
		}
		v.SetString(n.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if quoted || err != nil || len(n.Value) < len("true") {
			return "must be true or false"
		}
		v.SetBool(b)
	case reflect.Int:
		i, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 32)
		if quoted || err != nil {
			return "must be a whole number"
		}
		v.SetInt(i)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if quoted || err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return "must be a number"
		}
		v.SetFloat(f)
	}
	return ""
}

// raw decodes any tree into JSON, with its keys in the order of the file: the
// model reads parameters in that order.
func (d *decoder) raw(n *yaml.Node, v reflect.Value, path string) {
	before := len(d.mistakes)
	if text := d.json(n, path); len(d.mistakes) == before && !d.doubts[path] {
		v.Set(reflect.ValueOf(json.RawMessage(text)))
	}
}

// json writes a node as JSON. Mistakes below it are reported at path, since nodes below
// have names of their own.
func (d *decoder) json(n *yaml.Node, path string) string {
	n, leave := d.enter(n, path)
	if n == nil {
		return ""
	}
	defer leave()
	var items []string
	switch n.Kind {
	case yaml.MappingNode:
		for _, p := range d.pairs(n, path) {
			items = append(items, quoted(p.key)+":"+d.json(p.value, path))
		}
		return "{" + strings.Join(items, ",") + "}"
	case yaml.SequenceNode:
		for _, c := range n.Content {
			items = append(items, d.json(c, path))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return d.jsonScalar(n, path)
}

func (d *decoder) jsonScalar(n *yaml.Node, path string) string {
	if !d.known(n, path) {
		return ""
	}
	_, expanded := d.env.found[n]
	plain := expanded && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	switch tag := n.ShortTag(); {
	case (plain || tag == "!!int" || tag == "!!float" || tag == "!!bool") && bareJSON.MatchString(n.Value):
		return n.Value // every digit of it
	case expanded || tag == "!!str" || tag == "!!timestamp":
		return quoted(n.Value)
	}
	var x any
	if err := n.Decode(&x); err == nil {
		if text, err := json.Marshal(x); err == nil {
			return string(text)
		}
	}
	d.add(n.Line, path, "has a value that JSON can't hold, such as .inf; put it in quotes")
	return ""
}

// bareJSON matches unquoted JSON.
var bareJSON = regexp.MustCompile(`^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)$`)

// quoted is a JSON string, with < and & as they are.
func quoted(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
