package discord

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/work"
)

// What is looked for at each place of a text is looked for there alone: a pattern that
// may also begin further on reads all that is left, at each place again.
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
		if got, most := len(dialect(src)), 2*len(src)+leastRoom; got > most {
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
		"a\n---\n---":                        "## a\n" + drawnRule,
		"ahttp://b_c_d http://e_f_g":         "ahttp://b_c_d http://e_f_g",
		"`x`\n\n```\ncode\n```\n\n&#xE000;0": "`x`\n\n```\ncode\n```\n\n0",
		"[a]: http://b\n\n[c][a] [a][]":      "\n[c](http://b) [a](http://b)",
		"a \uE0007 b \uE001c":                "a 7 b c",
	} {
		if got := dialect(src); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}

// What is drawn for Discord, and read from it, is work that grows with the length of
// a text, whatever stands in it.
func TestWork(t *testing.T) {
	work.Long(t)
	t.Parallel()
	covered := []string{"nod/adapters/discord", "nod/chat/...", "github.com/yuin/goldmark/...", "regexp"}
	work.Linear(t, covered, work.Bound{Statements: 9000, Bytes: 6000, Do: func(text string) {
		thread := chat.ThreadID{Platform: "discord", Channel: "1", Root: "2"}
		answerParts(&chat.Text{Markdown: text})
		steps := chat.Steps{Status: text, Items: []chat.Step{{Thought: text, Calls: []chat.ToolCall{{Tool: text, Args: text, Observation: text, State: chat.CallDone}}}}}
		stepsPart(thread, &steps)
		stepsPages(steps)
		p := chat.Approval{Tool: text, Args: text, Why: text, Reason: text, Preview: &chat.Preview{Text: text}}
		approvalPart(&p, cardOf(&p))
		words{}.readable(text)
	}}, work.Bound{ // laying a text on pages looks at no part of it for each page anew
		Size: 1 << 20, Texts: []string{"words", "lines", "one word"}, Statements: 60, Bytes: 60, Do: func(text string) {
			paged([]sheet{{text: text}}, mostContent)
			paged([]sheet{{text: text, code: true}}, mostContent)
		},
	}, work.Bound{ // runs of backticks that nothing ends are looked for once
		Size: 1 << 20, Texts: []string{"rows of backticks", "backticks", "code within lines"}, Statements: 60, Bytes: 200, Do: func(text string) {
			inlined(strings.ReplaceAll(text, "\n", " "), &references{map[string]string{}, leastRoom})
		},
	})
}
