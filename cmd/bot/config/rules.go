package config

import (
	"cmp"
	"encoding/json"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"

	"nod/chat"
	"nod/setting"
)

// The tags of a field hold the demands on its key, and both the program and
// the schema that editors use read them there:
//
//	schema   min=, max= and more= of a number, a size or a length of time, positive of
//	         a length of time, filled of a text, some of a list, and the name of a form
//	want     the message where one of the first six does not hold
//	missing  the key must be there; the message says to write this
//	when     missing holds only while another key of the section has a value (key=value),
//	         or has another one (key!=value)
//	default  the value where the file says nothing, as the file would write it
//
// Rules that span keys are for check alone.

// form is a form of texts, with its pattern for the schema. A problem names the right
// form.
type form struct {
	pattern string // empty: a pattern can't tell
	problem func(text string) string
}

// forms are the forms by their names.
var forms = map[string]form{
	"url":        {`^https?://[^/?#@\s]+([/?][^#\s]*)?$`, urlProblem},
	"proxy":      {`^$|^https?://[^/?#\s]+/?$`, orNone(proxyProblem)},
	"own-url":    {`^https?://[^/?#@\s]+([/?][^#\s]*)?$`, orNone(urlProblem)},
	"loopback":   {`^$|^(localhost|127(\.[0-9]{1,3}){3}|\[::1\]):[0-9]{1,5}$`, orNone(loopbackProblem)},
	"listen":     {`^[^\s/]*:[0-9]{1,5}$`, listenProblem},
	"hooks":      {`^$|^[^\s/]*:[0-9]{1,5}$`, orNone(listenProblem)},
	"placed":     placed,
	"regexp":     {"", regexpProblem},
	"host":       {`^[^\s@?#]+$`, hostPatternProblem},
	"globs":      {`^([^\[\\]|\[[^\]\\-]+\])+$`, patternProblem},
	"zone":       {"", zoneProblem},
	"notify":     {notifyWord.pattern, notifyProblem},
	"emoji":      {`^[^ \t\n,]+$`, emojiProblem},
	"token":      {`^[\x21-\x7e]+$`, orNone(tokenProblem(""))},
	"app":        {`^xapp-[!-~]*$`, orNone(tokenProblem("xapp-"))},
	"bot":        {`^xoxb-[!-~]*$`, orNone(tokenProblem("xoxb-"))},
	"slack-bot":  like(`^[BUW][A-Z0-9]{1,63}$`, "must be an id, such as B012ABCDEF, not a name"),
	"snowflake":  like(`^[0-9]{1,20}$`, "must be an id, such as 123456789012345678, not a name"),
	"approver":   ruleOf("requester, anyone, user:ID, group:ID or role:ID"),
	"decider":    ruleOf("anyone, user:ID, group:ID or role:ID"),
	"asker":      ruleOf("everyone, user:ID, group:ID or role:ID"),
	"on-slack":   ruleOf("everyone, user:ID, group:ID or channel:ID"),
	"on-discord": ruleOf("everyone, user:ID, role:ID or channel:ID"),
	"raised":     ruleOf("user:ID, group:ID, role:ID or channel:ID"),
	"place":      like(`^(slack:[CDG][A-Z0-9]{1,63}|discord:[0-9]{1,20})$`, "must be slack:ID or discord:ID, with the id of a channel and not its name"),
	"tool":       like(`^[a-zA-Z0-9_-]{1,64}$`, "must be 1 to 64 letters, digits, _ or -, such as restart_service"),
	"language":   like(`^[a-z]{2,12}(-[a-z]{2,12})*$`, "must be the language in Wikipedia's address, such as en or zh-yue"),
	"variable":   like(envName.String(), "must be the name of an environment variable, without $ or a value"),
}

// like is the form of texts that match a pattern.
func like(pattern, problem string) form {
	re := regexp.MustCompile(pattern)
	return form{pattern, func(text string) string {
		if re.MatchString(text) {
			return ""
		}
		return problem
	}}
}

// ruleOf is the form of rules that name people or places, by what a message calls them.
func ruleOf(choices string) form {
	one := strings.NewReplacer(", ", "|", " or ", "|", ":ID", ":[A-Za-z0-9]{1,64}").Replace(choices)
	return like("^("+one+")$", "must be "+choices+", with the id and not a name")
}

// orNone lets a text be empty, which stands for none, or for the service's own.
func orNone(problem func(text string) string) func(text string) string {
	return func(text string) string {
		if text == "" {
			return ""
		}
		return problem(text)
	}
}

func zoneProblem(name string) string {
	if _, err := time.LoadLocation(name); err != nil {
		return "must be the name of a time zone, such as Europe/Berlin"
	}
	return ""
}

// patternProblem names the mistake in a pattern of tool names.
func patternProblem(pattern string) string {
	if _, err := path.Match(pattern, "name"); err != nil || pattern == "" {
		return "must be a pattern on tool names, such as get_* or *"
	}
	return ""
}

func emojiProblem(text string) string {
	if e := chat.NormalEmoji(text); e == "" || strings.ContainsAny(e, " \t\n,") {
		return "must be one emoji, or the name that Slack has for it, such as ✅ or white_check_mark"
	}
	return ""
}

var inToken = regexp.MustCompile(`^[\x21-\x7e]+$`)

// tokenProblem demands of a secret that it can be sent and that
// it begins as its kind does.
func tokenProblem(prefix string) func(string) string {
	return func(text string) string {
		switch {
		case !inToken.MatchString(text):
			return "has spaces, line breaks or other characters that no such value has; copy it again"
		case !strings.HasPrefix(text, prefix):
			return "must be the token that begins with " + prefix
		}
		return ""
	}
}

// hold reports what a key breaks of the rules of its field. A value that the file does
// not write is the default, which is right.
func (d *decoder) hold(f reflect.StructTag, v reflect.Value, key string, written bool) {
	if d.tooMuch {
		return
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !written || !v.IsValid() {
		return
	}
	rules := f.Get("schema")
	for rule := range strings.SplitSeq(rules, ",") {
		if one, ok := forms[rule]; ok {
			d.holdForm(one, v, key)
		} else if broken(rule, v) {
			d.at(key, "%s", cmp.Or(f.Get("want"), wanted(rules)))
		}
	}
}

// demand says whether a section must have its key number i, and the text to write
// there.
func (f fields) demand(i int, section reflect.Value) (what string, must bool) {
	what, must = f.fields[i].Tag.Lookup("missing")
	key, value, conditional := strings.Cut(f.fields[i].Tag.Get("when"), "=")
	if !must || !conditional {
		return what, must
	}
	key, other := strings.CutSuffix(key, "!")
	at := f.fields[slices.Index(f.keys, key)].Index
	return what, (section.FieldByIndex(at).String() == value) != other
}

// isMissing says that a key that must be there is not. A number can be any.
func isMissing(v reflect.Value, written bool) bool {
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return !written || v.Kind() != reflect.Float64 && v.IsZero()
}

// holdForm reports texts that don't have a form.
func (d *decoder) holdForm(f form, v reflect.Value, key string) {
	text := v.String()
	switch s := v.Interface().(type) {
	case setting.Secret:
		text = s.Reveal()
	case []string:
		for i := range s {
			d.holdForm(f, v.Index(i), item(key, i))
		}
		return
	}
	if problem := f.problem(text); problem != "" {
		d.at(key, "%s", problem)
	}
}

// broken says that a value does not hold to a rule that is no form.
func broken(rule string, v reflect.Value) bool {
	name, bound, _ := strings.Cut(rule, "=")
	limit := reflect.New(v.Type()).Elem()
	if bound != "" {
		write(limit, bound)
	}
	switch name {
	case "":
		return false
	case "filled":
		return strings.TrimSpace(v.String()) == ""
	case "some":
		return v.Len() == 0
	case "min":
		return number(v) < number(limit)
	case "max":
		return number(v) > number(limit)
	case "positive", "more":
		return number(v) <= number(limit)
	}
	panic("config: " + name + " is no rule") // a programmer's error
}

// number gives a number, a size or a length of time in a form that can be compared.
func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// wanted describes a rule for fields without words of their own.
func wanted(rules string) string {
	if m := bounds.FindStringSubmatch(rules); m != nil {
		return "must be from " + m[1] + " to " + m[2]
	}
	return "must be more than 0; write a number and a unit, such as 30s"
}

var bounds = regexp.MustCompile(`min=(.*),max=(.*)`)

// write sets a value as the file would.
func write(v reflect.Value, text string) {
	var doc yaml.Node
	if err := yaml.Load([]byte(text), &doc); err != nil {
		panic(err) // a programmer's error
	}
	d := &decoder{report: newReport(""), env: &environment{}, section: &Approvals{}, first: &LLM{}}
	d.value(doc.Content[0], v, "")
	if len(d.mistakes) > 0 {
		panic(sorted(d.mistakes).Error())
	}
}

// fill sets the defaults of a section, of a tool by the rules of the section approvals.
func fill(v reflect.Value, a Approvals) {
	if v.Kind() != reflect.Struct || isScalar(v) {
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		fill(v.Field(i), a)
		if text, ok := f.Tag.Lookup("default"); ok {
			write(v.Field(i), text)
		}
	}
	if t, ok := v.Addr().Interface().(*ToolRules); ok {
		t.Approvals = a
	}
}

// narrow adds the tags' rules to the schemas of a struct and its fields.
func narrow(s *jsonschema.Schema, t reflect.Type, all jsonschema.Definitions, done map[reflect.Type]bool) {
	if done[t] || s == nil || s.Properties == nil {
		return
	}
	done[t] = true
	known := fieldsOf(t)
	for i, f := range known.fields {
		p, ok := s.Properties.Get(known.keys[i])
		if !ok {
			continue
		}
		if _, ok := f.Tag.Lookup("missing"); ok && f.Tag.Get("when") == "" {
			s.Required = append(s.Required, known.keys[i])
		}
		for rule := range strings.SplitSeq(f.Tag.Get("schema"), ",") {
			apply(p, rule)
		}
		inner := f.Type
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			narrow(all[definition(inner)], inner, all, done)
		}
	}
}

// apply adds one rule to a property. Bounds of sizes and lengths of time are no numbers,
// and can't be said.
func apply(p *jsonschema.Schema, rule string) {
	name, value, _ := strings.Cut(rule, "=")
	switch bound := json.Number(value); {
	case name == "min" && json.Valid([]byte(value)):
		p.Minimum = bound
	case name == "max" && json.Valid([]byte(value)):
		p.Maximum = bound
	case name == "more":
		p.ExclusiveMinimum = bound
	case name == "some":
		one := uint64(1)
		p.MinItems = &one
	case name == "positive":
		p.AllOf = []*jsonschema.Schema{either(&jsonschema.Schema{Type: "string", Pattern: `[1-9]|` + envPattern}, &jsonschema.Schema{Type: "null"})}
	}
	pattern := forms[name].pattern
	if name == "filled" {
		pattern = `\S`
	}
	if pattern == "" {
		return
	}
	if p.Items != nil {
		p = p.Items
	}
	p.Pattern = pattern + "|" + envPattern
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
