package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"nod/llm"
)

// The tools that the script knows by name.
const (
	calculator = "calculator"
	clock      = "clock"
	chart      = "chart"
)

// plan holds the calls that a text asks for, and the obstacles of others, in words for
// the person.
type plan struct {
	calls []planned
	gaps  []string
}

type planned struct {
	tool string
	args map[string]any
	why  string
}

// makePlan reads numbers to draw first, then arithmetic and questions for the time, and
// looks for names of tools in the rest.
func makePlan(text string, tools []llm.Tool) plan {
	var p plan
	if rest, args := charts(text); args != nil && find(tools, chart) != nil {
		text = rest
		p.calls = append(p.calls, planned{chart, args, "This asks for a picture of numbers, so I draw a chart."})
	}
	text, exprs := arithmetic(text)
	text, zones := times(text)
	p.known(find(tools, calculator), calculator, "This is arithmetic, so I use the calculator.", exprs, len(tools) > 0)
	p.known(find(tools, clock), clock, "This asks for the time, so I look at the clock.", zones, len(tools) > 0)
	words := split(text)
	for i := 0; i < len(words); {
		named, n := mentionAt(words[i:], tools)
		end := i + max(n, 1)
		for n > 0 && end < len(words) {
			if _, next := mentionAt(words[end:], tools); next > 0 {
				break
			}
			end++
		}
		if n > 0 && !slices.ContainsFunc(words[max(0, i-3):i], func(w word) bool { return negations[w.lower()] }) {
			p.named(named, words[i+n:end], words)
		}
		i = end
	}
	return p
}

var negations = map[string]bool{"don't": true, "dont": true, "don’t": true, "never": true, "without": true, "not": true}

func find(tools []llm.Tool, name string) *llm.Tool {
	i := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &tools[i]
}

// known plans calls of a known tool, each with one value.
func (p *plan) known(t *llm.Tool, name, why string, values []any, others bool) {
	for _, v := range values {
		args := map[string]any{}
		switch {
		case t == nil && others:
			p.gaps = append(p.gaps, "For that I would use "+quote(name)+", which I don't have here.")
			continue
		case t == nil:
			continue
		case v != "":
			params := parametersOf(*t)
			if i := slices.IndexFunc(params.order(), func(n string) bool { return params.Properties[n].is("string") }); i >= 0 {
				args[params.order()[i]] = v
			}
		}
		p.calls = append(p.calls, planned{name, args, why})
	}
}

// word is a word, a "quoted text" without its quotes, or a name=value pair.
type word struct {
	text   string
	quoted bool
	used   bool
}

func (w word) lower() string { return strings.ToLower(w.text) }

var wordPattern = regexp.MustCompile(`[\w-]+="[^"]*"|"[^"]*"|“[^”]*”|` + "`[^`]*`" + `|\S+`)

func split(text string) []word {
	var out []word
	for _, s := range wordPattern.FindAllString(text, -1) {
		if bare := strings.Trim(s, "\"`“”"); bare != s && !strings.Contains(s, "=") {
			out = append(out, word{text: bare, quoted: true})
		} else if s = strings.Trim(s, ",.;:!?()[]<>*"); s != "" {
			out = append(out, word{text: s})
		}
	}
	return out
}

// vague are words of tools' names that say too little to name a tool.
var vague = strings.Fields("service tool run get list file data text name new the for and read")

// mentionAt gives the tools whose name the words begin with, or the telling half of a
// name in any order; several when the words do not tell them apart. n is the number of
// words that belong to the name.
func mentionAt(words []word, tools []llm.Tool) (named []llm.Tool, n int) {
	best := 0.0
	for _, t := range tools {
		parts := strings.FieldsFunc(strings.ToLower(t.Name), func(r rune) bool { return strings.ContainsRune("_-.", r) })
		whole, telling, k := len(parts), false, 0
		for k < min(len(words), whole) && !words[k].quoted && slices.Contains(parts, words[k].lower()) {
			telling = telling || len(words[k].text) > 2 && !slices.Contains(vague, words[k].lower())
			k++
		}
		share := float64(k) / float64(max(whole, 1))
		if words[0].lower() == strings.ToLower(t.Name) {
			share, k = 2, 1
		}
		if share < 1 && (!telling || share < 0.5) || share < best {
			continue
		}
		if share > best {
			named, n, best = nil, k, share
		}
		named = append(named, t)
	}
	return named, n
}

// named plans calls of a named tool, with the words between this mention and the next
// one; pairs and values of enums are also looked for in the whole text.
func (p *plan) named(tools []llm.Tool, segment, text []word) {
	if len(tools) > 1 {
		var names []string
		for _, t := range tools {
			names = append(names, quote(t.Name))
		}
		p.gaps = append(p.gaps, "That could be "+strings.Join(names, " or ")+". Please write the whole name.")
		return
	}
	name, params := quote(tools[0].Name), parametersOf(tools[0])
	calls := params.fill(segment, text)
	var missing []string
	for _, n := range params.Required {
		if _, ok := calls[0][n]; !ok {
			missing = append(missing, params.Properties[n].describe(n))
		}
	}
	if len(missing) > 0 {
		p.gaps = append(p.gaps, "For "+name+" "+needs+" "+strings.Join(missing, ", ")+".")
		return
	}
	for _, args := range calls {
		p.calls = append(p.calls, planned{tools[0].Name, args, "The message names " + name + ", so I call it."})
	}
}

// parameters is as much of a tool's JSON Schema as the script reads.
type parameters struct {
	Properties map[string]parameter `json:"properties"`
	Required   []string             `json:"required"`
}

type parameter struct {
	Type        json.RawMessage `json:"type"` // a string, or a list of them
	Enum        []any           `json:"enum"`
	Format      string          `json:"format"`
	Description string          `json:"description"`
}

// parametersOf reads the schema; of one that is no object schema it knows
// nothing, and calls go out without arguments.
func parametersOf(t llm.Tool) parameters {
	var p parameters
	if json.Unmarshal(t.Parameters, &p) != nil {
		return parameters{}
	}
	return p
}

func (p parameter) is(kind string) bool {
	return strings.Contains(string(p.Type), `"`+kind+`"`) || kind == "string" && len(p.Type) == 0
}

// order lists the names of the parameters, the required ones first.
func (p parameters) order() []string {
	return append(slices.Clone(p.Required), slices.Sorted(maps.Keys(p.Properties))...)
}

// fill finds values for the parameters in the words behind the tool's name; for pairs
// and enums, anywhere in the text. Several values of one enum make several calls.
func (p parameters) fill(segment, text []word) []map[string]any {
	args := map[string]any{}
	var several string
	var values []any
	for _, n := range p.order() {
		prop := p.Properties[n]
		for _, try := range []struct {
			words []word
			read  func(name string, w word) (any, bool)
		}{{segment, prop.inPair}, {text, prop.inPair}, {segment, prop.inEnum}, {text, prop.inEnum}, {segment, prop.byForm}} {
			if _, ok := args[n]; ok {
				break
			}
			found := prop.pick(try.words, n, try.read)
			if len(found) > 0 {
				args[n] = found[0]
			}
			if len(found) > 1 && several == "" {
				several, values = n, found
			}
		}
	}
	p.fillText(args, segment)
	calls := []map[string]any{args}
	for _, v := range values[min(1, len(values)):] {
		one := maps.Clone(args)
		one[several] = v
		calls = append(calls, one)
	}
	return calls
}

// pick takes an unused word from which the parameter can be read, or all of them for an
// enum.
func (p parameter) pick(words []word, name string, read func(string, word) (any, bool)) (found []any) {
	for i, w := range words {
		v, ok := read(name, w)
		if !ok || w.used || len(found) > 0 && (len(p.Enum) == 0 || slices.Contains(found, v)) {
			continue
		}
		words[i].used = true
		found = append(found, v)
	}
	return found
}

// inPair reads name=value.
func (p parameter) inPair(name string, w word) (any, bool) {
	k, v, ok := strings.Cut(w.text, "=")
	if !ok || w.quoted || !strings.EqualFold(k, name) {
		return nil, false
	}
	v = strings.Trim(v, `"`)
	switch {
	case len(p.Enum) > 0:
		return p.inEnum(name, word{text: v})
	case p.is("string"):
		return v, true
	case json.Valid([]byte(v)):
		return json.RawMessage(v), true
	}
	return strings.Split(v, ","), p.is("array")
}

// inEnum reads a value of the enum.
func (p parameter) inEnum(_ string, w word) (any, bool) {
	for _, e := range p.Enum {
		if s, ok := e.(string); ok && strings.EqualFold(s, w.text) {
			return s, true
		}
	}
	return nil, false
}

var address = regexp.MustCompile(`^https?://\S+$`)

func (p parameter) isAddress(name string) bool {
	return p.Format == "uri" || strings.EqualFold(name, "url")
}

// byForm reads a number, an address or a truth value.
func (p parameter) byForm(name string, w word) (any, bool) {
	switch {
	case p.is("integer") || p.is("number"):
		return value(w.text), number.FindString(w.text) == w.text && w.text != ""
	case p.is("boolean"):
		return true, w.lower() == strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	}
	return w.text, p.is("string") && p.isAddress(name) && address.MatchString(w.text)
}

// filler are words that a free text does not begin or end with.
var filler = strings.Fields("for about of the a an to please and on with in that then says saying what is at")

// fillText gives quoted texts to the required free-text parameters, and the rest of the
// text to the last one.
func (p parameters) fillText(args map[string]any, segment []word) {
	var open, rest []string
	for _, n := range p.Required {
		prop := p.Properties[n]
		if _, ok := args[n]; !ok && prop.is("string") && len(prop.Enum) == 0 && !prop.isAddress(n) {
			open = append(open, n)
		}
	}
	for _, w := range segment {
		switch {
		case w.used:
		case w.quoted && len(open) > 0:
			args[open[0]], open = w.text, open[1:]
		case !strings.Contains(w.text, "="):
			rest = append(rest, w.text)
		}
	}
	for len(rest) > 0 && slices.Contains(filler, strings.ToLower(rest[0])) {
		rest = rest[1:]
	}
	for len(rest) > 0 && slices.Contains(filler, strings.ToLower(rest[len(rest)-1])) {
		rest = rest[:len(rest)-1]
	}
	if len(open) == 1 && len(rest) > 0 {
		args[open[0]] = strings.Join(rest, " ")
	}
}

// describe names the parameter to a person who left it out.
func (p parameter) describe(name string) string {
	about := strings.TrimRight(p.Description, ".")
	if len(p.Enum) > 0 {
		about = strings.TrimSuffix(fmt.Sprintf(strings.Repeat("%v or ", len(p.Enum)), p.Enum...), " or ")
	}
	if about == "" {
		return quote(name)
	}
	return quote(name) + " (" + about + ")"
}
