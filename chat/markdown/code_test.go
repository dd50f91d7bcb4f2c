package markdown

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

// codes gives what a reader of CommonMark finds in code blocks, wherever they
// stand, without blank space, which a cut may change.
func codes(md string) string {
	src := []byte(md)
	var out strings.Builder
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(src))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && (n.Kind() == ast.KindFencedCodeBlock || n.Kind() == ast.KindCodeBlock) {
			out.WriteString(strings.Join(strings.Fields(string(n.Lines().Value(src))), ""))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// oddLines are lines of code that look like markup.
var oddLines = []string{
	strings.Repeat("-", 90), strings.Repeat("-", 33) + "+" + strings.Repeat("-", 40), strings.Repeat("-+", 70),
	strings.Repeat("+----", 20) + "+", strings.Repeat("- ", 65), strings.Repeat("> ", 70), strings.Repeat("1. ", 80),
	strings.Repeat("*", 80), strings.Repeat("|", 300), strings.Repeat("- ", 300), strings.Repeat(">", 2000),
	"**Action** deploy", "> quote", "# heading", "[a](http://b)", "<!--", "    indented", "plain", "",
}

// Code stays code in every part of a split, with any text in and around it.
func TestCodeStaysCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var src, want strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "blocks") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&src, "%s\n\n", words(rapid.IntRange(1, 40).Draw(t, "words")))
			case 1:
				fmt.Fprintf(&src, "%s word\n\n", rapid.SampledFrom([]string{strings.Repeat("> ", 70), strings.Repeat("- ", 300), "-"}).Draw(t, "nested"))
			default:
				lines := rapid.SliceOfN(rapid.SampledFrom(oddLines), 1, 12).Draw(t, "lines")
				lines = append([]string{"first"}, lines...)
				fmt.Fprintf(&src, "%s\n\n", fenced(strings.Join(lines, "\n")))
				want.WriteString(strings.Join(strings.Fields(strings.Join(lines, "")), ""))
			}
		}
		limit := rapid.SampledFrom([]int{Least, 400, 2000, 1 << 20}).Draw(t, "limit")
		got := ""
		for _, part := range Split(src.String(), limit, UTF16) {
			got += codes(part)
		}
		if diff := cmp.Diff(want.String(), got); diff != "" {
			t.Fatalf("code of\n%s\n(-want +got):\n%s", src.String(), diff)
		}
	})
}

// A table that was drawn is code, however wide, and leaves the code beside it
// alone.
func TestDrawnTableStaysCode(t *testing.T) {
	g := &Grid{Align: make([]Align, 5), Header: []string{"Service", "Owner", "Status", "Last deploy", "Notes"}}
	for range 3 {
		g.Rows = append(g.Rows, []string{"api-gateway-production", "team-platform", "degraded", "2026-01-01 10:00", strings.Repeat("slow ", 10)})
	}
	src := "Run this:\n\n```bash\nkubectl get pods\n```\n\n" + fenced(AlignedTable(g)) + "\n\nEnd."
	if got := Split(src, 2000, UTF16); len(got) != 1 || got[0] != src {
		t.Errorf("it became\n%s", strings.Join(got, "\n%\n"))
	}
}

func TestNesting(t *testing.T) {
	for line, want := range map[string]int{
		"": 0, "text - a": 0, "> a": 1, ">>> a": 3, "- - a": 2, "1. > 2) a": 3, "---": 0, "-----  -----": 0, "-+-+": 0, "1.5": 0, "-": 1, "- ": 1, "12": 0, "\t- a": 1,
	} {
		if got := nesting(line); got != want {
			t.Errorf("%q nests %d deep, want %d", line, got, want)
		}
	}
}

// The words behind fences go, and nothing else.
func TestBare(t *testing.T) {
	for in, want := range map[string]string{
		"```go\nx\n```":                       "```\nx\n```",
		"> ~~~ python  title=x\n> y\n> ~~~\n": "> ~~~\n> y\n> ~~~\n",
		"- a\n\n  ```sh\n  ls ```sh\n  ```":   "- a\n\n  ```\n  ls ```sh\n  ```",
		"```\n```go\nx":                       "```\n```go\nx",
		"`go` and ```go```":                   "`go` and ```go```",
	} {
		if got := Bare(in); got != want {
			t.Errorf("Bare(%q) = %q, want %q", in, got, want)
		}
	}
}

// fenced makes a code block of the text, with a fence that nothing in it ends.
func fenced(code string) string {
	longest, run := 2, 0
	for _, c := range []byte(code) {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + strings.TrimRight(code, "\n") + "\n" + fence
}
