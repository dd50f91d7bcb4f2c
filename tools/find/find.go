// Package find searches tools by words, where their definitions are too many for a prompt.
// It ranks them with BM25 (https://en.wikipedia.org/wiki/Okapi_BM25) over names,
// descriptions and parameters. The same words give the same tools in the same order.
package find

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"nod/llm"
)

// Weights of a word, by where it stands.
const (
	inName        = 3.0
	inDescription = 1.5
	inParameter   = 0.6
	inDetail      = 0.2 // in the description of a parameter
)

// The usual constants of BM25: how soon a repeated word counts no more, and how much the
// length of a definition counts.
const (
	saturation = 1.2
	lengthy    = 0.4
)

// Tools finds the tools that fit a query, the best first; those that share no word with it
// are left out.
func Tools(list []llm.Tool, query string) []llm.Tool {
	texts, holders, average := make([]text, len(list)), map[string]int{}, 0.0
	for i, t := range list {
		texts[i] = read(t)
		average += texts[i].length / float64(len(list))
		for word := range texts[i].weight {
			holders[word]++
		}
	}
	type hit struct {
		tool  llm.Tool
		score float64
	}
	var hits []hit
	for i, t := range list {
		score := 0.0
		for _, word := range unique(words(query)) {
			n, weight := float64(holders[word]), texts[i].weight[word]
			rare := math.Log(1 + (float64(len(list))-n+0.5)/(n+0.5))
			score += rare * weight * (saturation + 1) / (weight + saturation*(1-lengthy+lengthy*texts[i].length/average))
		}
		if score > 0 {
			hits = append(hits, hit{t, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.tool.Name, b.tool.Name))
	})
	out := make([]llm.Tool, 0, len(hits))
	for _, h := range hits {
		out = append(out, h.tool)
	}
	return out
}

// text is a definition as the search sees it.
type text struct {
	weight map[string]float64
	length float64
}

func read(t llm.Tool) text {
	d := text{weight: map[string]float64{}}
	add := func(s string, weight float64) {
		for _, word := range words(s) {
			d.weight[word] += weight
			d.length += weight
		}
	}
	add(t.Name, inName)
	add(t.HumanName, inName)
	add(t.Description, inDescription)
	var schema struct {
		Properties map[string]struct {
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.Parameters, &schema)                          // a schema in another form has no words for us
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) { // sums of fractions depend on their order
		p := schema.Properties[name]
		add(name, inParameter)
		add(p.Description, inDetail)
		for _, v := range p.Enum {
			if s, ok := v.(string); ok {
				add(s, inDetail)
			}
		}
	}
	return d
}

// split cuts a text into words, also where small letters end and a capital follows.
func split(s string) (out []string) {
	start, before := -1, ' '
	for i, r := range s {
		inside := unicode.IsLetter(r) || unicode.IsNumber(r)
		if start >= 0 && (!inside || unicode.IsLower(before) && unicode.IsUpper(r)) {
			out, start = append(out, strings.ToLower(s[start:i])), -1
		}
		if inside && start < 0 {
			start = i
		}
		before = r
	}
	if start >= 0 {
		out = append(out, strings.ToLower(s[start:]))
	}
	return out
}

// words splits a text into words, in the form in which they are compared.
func words(s string) []string {
	var out []string
	for _, w := range split(s) {
		if whole, ok := short[w]; ok {
			out = append(out, whole...)
			continue
		}
		if w = stem(w); !empty[w] {
			out = append(out, w)
		}
	}
	return out
}

// stem takes the ending of an English word off.
func stem(w string) string {
	for _, end := range []struct{ is, becomes string }{
		{"sses", "ss"}, {"ies", "y"}, {"ches", "ch"}, {"shes", "sh"}, {"ss", "ss"}, {"us", "us"}, {"s", ""},
	} {
		if cut, ok := strings.CutSuffix(w, end.is); ok && len(cut) > 1 {
			w = cut + end.becomes
			break
		}
	}
	for _, end := range []string{"ing", "ed", "er"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) > 2 {
			w = cut
			if n := len(w); w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
				w = w[:n-1] // running, run
			}
			break
		}
	}
	if cut, ok := strings.CutSuffix(w, "e"); ok && len(cut) > 2 {
		w = cut
	}
	return w
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// short are abbreviations and other words that people write, as stems.
var short = map[string][]string{
	"pr": {"pull", "request"}, "prs": {"pull", "request"}, "repo": {"repository"}, "repos": {"repository"},
	"ticket": {"issu"}, "tickets": {"issu"}, "people": {"user"}, "person": {"user"}, "k8s": {"kubernet"}, "db": {"databas"}, "config": {"configur"}, "docs": {"document"}, "dir": {"directory"},
}

// Topics are the words that tools have in their names most often, but for words of doing.
func Topics(names []string) []string {
	count, first := map[string]int{}, map[string]string{}
	for _, name := range names {
		for _, w := range split(name) {
			s := stem(w)
			if empty[s] || doing[s] {
				continue
			}
			if count[s]++; len(w) > len(first[s]) {
				first[s] = w
			}
		}
	}
	stems := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	out := make([]string, 0, mostTopics)
	for _, s := range stems[:min(mostTopics, len(stems))] {
		out = append(out, first[s])
	}
	return out
}

// mostTopics is how many words stand for a server.
const mostTopics = 6

// doing are stems of what tools do, rather than what they do it with.
var doing = stems("get list create update delete remove add set search find query read write patch post put retrieve fetch move open close start stop run execute manage generic")

// empty are stems that tell tools apart by chance only.
var empty = stems("a an the and or of in on to for from with by at as is are was were be it its this that these those we our us i my me you your please can could do doe did ha have what which who whos where why how there any anybody all error response bad api if not no so")

func stems(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[stem(w)] = true
	}
	return out
}
