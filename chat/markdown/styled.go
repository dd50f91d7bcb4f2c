package markdown

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Style is another markup: the marks around things, and the escaping of plain text.
type Style struct {
	Escape func(text string) string
	Strong string // on both sides
	Emph   string
	Strike string
	Code   string
	Fence  string // on lines of its own
	Link   func(label, to string) string
}

// Styled writes the text in another markup. What that has no word for is written
// as [Plain] does: headings are strong, tables are code with aligned columns.
func Styled(src string, s Style) string {
	if !tame(src) || !plainWords(src) {
		return s.Escape(strings.TrimSpace(src))
	}
	p := plain{src: []byte(src), style: &s}
	return strings.Trim(p.blocks(inlineParser.Parse(text.NewReader(p.src)), "\n\n"), "\n")
}

// fenced writes code.
func (p plain) fenced(code string) string {
	code = strings.TrimRight(code, "\n")
	if p.style == nil {
		return code
	}
	return p.style.Fence + "\n" + p.style.Escape(code) + "\n" + p.style.Fence
}

// around puts a mark on both sides of a text that is not empty.
func (p plain) around(out *strings.Builder, n ast.Node, mark func(*Style) string) {
	var said strings.Builder
	p.inline(&said, n)
	m := ""
	if p.style != nil && strings.TrimSpace(said.String()) != "" {
		m = mark(p.style)
	}
	out.WriteString(m + said.String() + m)
}

// escape writes text so that it is no markup.
func (p plain) escape(s string) string {
	if p.style == nil {
		return s
	}
	return p.style.Escape(s)
}

// Outside maps a text: code by code, and everything else by words. Unparseable text
// counts as words.
func Outside(src string, words, code func(string) string) string {
	if !tame(src) || strings.Count(src, "[") > maxBrackets {
		return words(src)
	}
	source := []byte(src)
	type span struct{ start, stop int }
	var spans []span
	_ = ast.Walk(inlineParser.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				l := n.Lines().At(i)
				spans = append(spans, span{l.Start, l.Stop})
			}
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					spans = append(spans, span{t.Segment.Start, t.Segment.Stop})
				}
			}
		}
		return ast.WalkContinue, nil
	})
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	var out strings.Builder
	at := 0
	for _, s := range spans {
		if s.start < at || s.stop > len(src) {
			continue
		}
		out.WriteString(words(src[at:s.start]))
		out.WriteString(code(src[s.start:s.stop]))
		at = s.stop
	}
	out.WriteString(words(src[at:]))
	return out.String()
}
