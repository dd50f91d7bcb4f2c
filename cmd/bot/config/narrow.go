package config

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// The schema that editors use must not take what the program then refuses, nor the
// other way round. What check demands of a single key is said here once more, by
// the words of the field's tag `schema`: min=, max= and more= of a number, positive
// of a length of time, some of a list, and the name of a pattern. Rules that span
// keys are for check alone.

// shapes are the patterns by their names.
var shapes = map[string]string{
	"filled":   `\S`,
	"url":      `^https?://[^/?#@\s]+([/?][^#\s]*)?$`,
	"loopback": `^$|^(localhost|127(\.[0-9]{1,3}){3}|\[::1\]):[0-9]{1,5}$`,
	"listen":   `^[^\s/]*:[0-9]{1,5}$`,
	"id":       id.String(),
	"approver": approver.String(),
	"asker":    asker.String(),
	"notify":   notify.String(),
	"heard":    `^(everyone|(user|group|channel|role):[A-Za-z0-9]{1,64})$`,
	"emoji":    `^[^ \t\n,]+$`,
	"tool":     toolName.String(),
	"globs":    `^([^\[\\]|\[[^\]\\-]+\])+$`,
	"language": language.String(),
	"host":     `^[^\s@?#]+$`,
	"variable": envName.String(),
	"app":      `^xapp-[!-~]*$`,
	"bot":      `^xoxb-[!-~]*$`,
	"token":    inToken.String(),
}

// narrow adds what the tags say to the schemas of a struct and of what is in it.
func narrow(s *jsonschema.Schema, t reflect.Type, all jsonschema.Definitions, done map[reflect.Type]bool) {
	if done[t] || s == nil || s.Properties == nil {
		return
	}
	done[t] = true
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		p, ok := s.Properties.Get(key)
		if key == "" || !ok {
			continue
		}
		for rule := range strings.SplitSeq(f.Tag.Get("schema"), ",") {
			apply(p, rule)
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			narrow(all[inner.Name()], inner, all, done)
		}
	}
}

// apply adds one rule to a property.
func apply(p *jsonschema.Schema, rule string) {
	name, value, _ := strings.Cut(rule, "=")
	switch name {
	case "":
	case "min":
		p.Minimum = json.Number(value)
	case "max":
		p.Maximum = json.Number(value)
	case "more":
		p.ExclusiveMinimum = json.Number(value)
	case "some":
		one := uint64(1)
		p.MinItems = &one
	case "positive":
		p.AllOf = []*jsonschema.Schema{either(&jsonschema.Schema{Type: "string", Pattern: `[1-9]|` + envPattern}, &jsonschema.Schema{Type: "null"})}
	default:
		pattern, known := shapes[name]
		if !known {
			panic("config: " + name + " is no rule of a schema") // a programmer's error
		}
		if p.Items != nil {
			p = p.Items
		}
		p.Pattern = pattern + "|" + envPattern
	}
}

// nullable lets a key be there without a value, which means its default, but for
// those that must have one, and sections in which a key must be.
func nullable(s *jsonschema.Schema, all jsonschema.Definitions) {
	if s.Properties == nil {
		return
	}
	needed := map[string]bool{}
	for _, key := range s.Required {
		needed[key] = true
	}
	null := &jsonschema.Schema{Type: "null"}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		switch v := p.Value; {
		case needed[p.Key], v.Ref != "" && len(all[strings.TrimPrefix(v.Ref, "#/$defs/")].Required) > 0:
		case v.Ref != "":
			v.AnyOf, v.Ref = []*jsonschema.Schema{{Ref: v.Ref}, null}, ""
		case len(v.AnyOf) > 0:
			v.AnyOf = append(v.AnyOf[:len(v.AnyOf):len(v.AnyOf)], null)
		case v.Type != "":
			bare := *v
			bare.Description = ""
			if values := bare.AdditionalProperties; values != nil && len(values.AnyOf) > 0 {
				values.AnyOf = append(values.AnyOf[:len(values.AnyOf):len(values.AnyOf)], null)
			}
			p.Value = &jsonschema.Schema{Description: v.Description, AnyOf: []*jsonschema.Schema{&bare, null}}
		}
	}
}
