package dialect

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// Every pattern is anchored to its place in the text. A pattern that may begin further on
// would read the rest of the text anew at each place.
func TestAnchored(t *testing.T) {
	t.Parallel()
	for _, at := range []*regexp.Regexp{addressAt, imageAt, targetAt, refersAt, strongAt, tagAt, entityAt} {
		parsed, err := syntax.Parse(at.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		if prog.StartCond()&syntax.EmptyBeginText == 0 {
			t.Errorf("%s may begin anywhere", at)
		}
	}
}

// Nothing that a text refers to makes of it a much longer one.
func TestDialectGrows(t *testing.T) {
	t.Parallel()
	const size = 8000
	for name, src := range map[string]string{
		"references":      "[a]: http://" + strings.Repeat("b", size) + "\n\n" + strings.Repeat("[a] ", size/4),
		"places of code":  "```\n" + strings.Repeat("b\n", size/2) + "```\n" + strings.Repeat("&#xE000;0&#xE001; ", size/18),
		"text before one": "```\n" + strings.Repeat("b\n", size/2) + "```\n" + strings.Repeat("a", size) + "&#xE000;0&#xE001;",
		"lines of ===":    strings.Repeat("a", size) + "\n" + strings.Repeat("===\n", size/4),
	} {
		if got, most := len(Write(src)), 2*len(src)+leastRoom; got > most {
			t.Errorf("%s: %d bytes became %d, want %d at most", name, len(src), got, most)
		}
	}
}

func TestDialectSmall(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"a <!-- b --> c <!-- d":              "a  c <!-- d",
		"a <!-- b <!-- c --> d":              "a  d",
		"a\n===\n===":                        "# a\n===",
		"a\n---\n---":                        "## a\n" + DrawnRule,
		"ahttp://b_c_d http://e_f_g":         "ahttp://b_c_d http://e_f_g",
		"`x`\n\n```\ncode\n```\n\n&#xE000;0": "`x`\n\n```\ncode\n```\n\n0",
		"[a]: http://b\n\n[c][a] [a][]":      "\n[c](http://b) [a](http://b)",
		"a \uE0007 b \uE001c":                "a 7 b c",
		"<[x](javascript:a)>":                "<[x\\](javascript:a)>",
	} {
		if got := Write(src); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}
