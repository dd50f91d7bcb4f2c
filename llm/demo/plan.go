package demo

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"nod/llm"
)

// The two tools that the script knows by name.
const (
	calculator = "calculator"
	clock      = "clock"
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

// makePlan reads arithmetic first, then questions for the time, and looks for names of
// tools in the rest.
func makePlan(text string, tools []llm.Tool) plan {
	var p plan
	if rest, args := charts(text); args != nil && has(tools, chart) {
		text = rest
		p.calls = append(p.calls, planned{chart, args, "This asks for a picture of numbers, so I draw a chart."})
	}
	rest, exprs := arithmetic(text)
	rest, zones := times(rest)
	for _, e := range exprs {
		p.known(calculator, e, tools)
	}
	for _, z := range zones {
		p.known(clock, z, tools)
	}
	words := split(rest)
	found := mentions(words, tools)
	for i, m := range found {
		end := len(words)
		if i+1 < len(found) {
			end = found[i+1].at
		}
		if !m.negated(words) {
			p.named(m, words, end)
		}
	}
	return p
}

var reasons = map[string]string{
	calculator: "This is arithmetic, so I use the calculator.",
	clock:      "This asks for the time, so I look at the clock.",
}

// known plans a call of one of the two known tools with one value.
func (p *plan) known(name, value string, tools []llm.Tool) {
	i := slices.IndexFunc(tools, func(t llm.Tool) bool { return t.Name == name })
	if i < 0 {
		if len(tools) > 0 {
			p.gaps = append(p.gaps, "For that I would use "+quote(name)+", which I don't have here.")
		}
		return
	}
	args := map[string]any{}
	if param := parametersOf(tools[i]).firstString(); param != "" && value != "" {
		args[param] = value
	}
	p.calls = append(p.calls, planned{name, args, reasons[name]})
}

// named plans calls of a named tool, with the words between this mention and the next
// one.
func (p *plan) named(m mention, words []word, end int) {
	if len(m.tools) > 1 {
		var names []string
		for _, t := range m.tools {
			names = append(names, quote(t.Name))
		}
		p.gaps = append(p.gaps, "That could be "+strings.Join(names, " or ")+". Please write the whole name.")
		return
	}
	t := m.tools[0]
	segment := slices.Clone(words[m.at:end])
	for _, h := range m.hits {
		if i := h - m.at; i < len(segment) {
			segment[i].used = true
		}
	}
	all, missing := parametersOf(t).fill(segment, words)
	if len(missing) > 0 {
		p.gaps = append(p.gaps, "For "+quote(t.Name)+" "+needs+" "+strings.Join(missing, ", ")+".")
		return
	}
	for _, args := range all {
		p.calls = append(p.calls, planned{t.Name, args, "The message names " + quote(t.Name) + ", so I call it."})
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
			continue
		}
		if s = strings.Trim(s, ",.;:!?()[]<>*"); s != "" {
			out = append(out, word{text: s})
		}
	}
	return out
}

// mention is a place where a text names a tool; several tools when it does
// not tell them apart.
type mention struct {
	tools []llm.Tool
	at    int   // index of the first word
	hits  []int // indexes of all words that belong to the name
	share float64
}

func (m mention) negated(words []word) bool {
	for _, w := range words[max(0, m.at-3):m.at] {
		switch w.lower() {
		case "don't", "dont", "don’t", "never", "without", "not":
			return true
		}
	}
	return false
}

// vague are words of tools' names that say too little to name a tool.
var vague = map[string]bool{
	"service": true, "tool": true, "run": true, "get": true, "list": true, "file": true, "data": true,
	"text": true, "name": true, "new": true, "the": true, "for": true, "and": true, "read": true,
}

// mentions finds the names of tools, or half of the words of a name, the most
// complete first; a word belongs to one mention only.
func mentions(words []word, tools []llm.Tool) []mention {
	var all []mention
	for i := range words {
		for _, t := range tools {
			if m, ok := mentionAt(words, i, t); ok {
				all = append(all, m)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b mention) int {
		return cmp.Or(cmp.Compare(len(b.hits), len(a.hits)), cmp.Compare(b.share, a.share))
	})
	taken := map[int]int{} // word → index in found
	var found []mention
	for _, m := range all {
		i, clash := taken[m.at]
		switch {
		case clash && slices.Equal(found[i].hits, m.hits) && found[i].share == m.share:
			found[i].tools = append(found[i].tools, m.tools...)
		case !slices.ContainsFunc(m.hits, func(h int) bool { _, ok := taken[h]; return ok }):
			for _, h := range m.hits {
				taken[h] = len(found)
			}
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b mention) int { return cmp.Compare(a.at, b.at) })
	return found
}

func mentionAt(words []word, i int, t llm.Tool) (mention, bool) {
	m := mention{tools: []llm.Tool{t}, at: i}
	name := strings.FieldsFunc(strings.ToLower(t.Name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if words[i].lower() == strings.ToLower(t.Name) {
		m.hits, m.share = []int{i}, 2
		return m, true
	}
	telling := false
	seen := map[string]bool{}
	for j := i; j < min(len(words), i+len(name)+1); j++ {
		w := words[j].lower()
		if words[j].quoted || seen[w] || !slices.Contains(name, w) {
			if j == i {
				return m, false
			}
			continue
		}
		seen[w] = true
		telling = telling || len(w) > 2 && !vague[w]
		m.hits = append(m.hits, j)
	}
	m.share = float64(len(m.hits)) / float64(len(name))
	return m, m.share == 1 || telling && m.share >= 0.5
}
