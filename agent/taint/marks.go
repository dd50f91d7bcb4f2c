package taint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/thread"
)

// mostMarks is how many values a card marks. leastMarked is how long a marked value is, in
// characters: shorter ones stand in any text.
const (
	mostMarks   = 5
	leastMarked = 4
)

// Marks names the arguments of a call that no person wrote, with the place they came from,
// for the approvers.
func (w Watch) Marks(c *thread.Call) []string {
	if !w.On || w.OfCall(c).Source == "" {
		return nil
	}
	people, strange := w.personTexts(), w.strangers()
	var out []string
	for _, l := range leaves(json.RawMessage(c.Args)) {
		if utf8.RuneCountInString(l.text) < leastMarked || slices.ContainsFunc(people, func(t string) bool { return strings.Contains(t, l.text) }) {
			continue
		}
		i := slices.IndexFunc(strange, func(s said) bool { return strings.Contains(s.text, l.text) })
		if i < 0 {
			continue
		}
		if len(out) == mostMarks {
			return append(out, "and more such values")
		}
		out = append(out, fmt.Sprintf("%s: from %s, not from a person", phrase.Brief(l.name), strange[i].source))
	}
	return out
}

// said is a text that no person of the thread wrote to the bot.
type said struct{ text, source string }

// strangers lists such texts in the prompt.
func (w Watch) strangers() []said {
	var out []said
	if s := w.Thread.Trim; s.Outside != "" && (s.Summary != "" || w.Thread.Recalled) {
		out = append(out, said{s.Summary + "\n" + s.Recap, s.Outside})
	}
	for _, t := range w.Thread.Shown(w.Thread.Trim) {
		for _, m := range t.Live() {
			for _, f := range m.Files {
				out = append(out, said{f.Name + "\n" + f.Text, fileSource(f)})
			}
			if w.strangeNow(m) {
				out = append(out, said{m.Text, "a message of " + phrase.Brief(m.From.Display())})
			}
			for _, q := range m.FromOthers() {
				out = append(out, said{q.Text, "a message of " + phrase.Brief(q.From.Display())})
			}
		}
		for c := range t.EachCall() {
			if c.FromOutside() {
				out = append(out, said{c.Result.Text, w.resultSource(c)})
			}
		}
	}
	return out
}

// gather collects the leaves of a value.
func gather(out *[]leaf, name string, value any) {
	if len(*out) >= policy.MostLeaves {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			gather(out, join(name, k), v[k])
		}
	case []any:
		for i, e := range v {
			gather(out, fmt.Sprintf("%s[%d]", name, i), e)
		}
	case string:
		*out = append(*out, leaf{name, v})
	case json.Number:
		*out = append(*out, leaf{name, v.String()})
	}
}

func join(outer, inner string) string {
	if outer == "" {
		return inner
	}
	return outer + "." + inner
}

// leaf is a value of arguments that holds no others, with the path to it.
type leaf struct{ name, text string }

// leaves lists the strings and numbers of arguments, in order of their names.
func leaves(raw json.RawMessage) []leaf {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return []leaf{{"", string(raw)}}
	}
	var out []leaf
	gather(&out, "", value)
	return out
}
