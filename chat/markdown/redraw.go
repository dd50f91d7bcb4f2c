package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Redraw replaces every table and every block of code by the result of draw, also
// within lists and quotes. The rest, and blocks that draw declines, stay unchanged.
// draw gets a block's kind and content, not its place.
func Redraw(src string, draw func(Block) (string, bool)) string {
	if !tame(src) {
		return redrawPlain(src, draw)
	}
	src = closeFences(src)
	r := redrawing{src: []byte(src), draw: draw}
	_ = ast.Walk(blockParser.Parse(text.NewReader(r.src)), r.walk) // walk returns no error
	r.out.Write(r.src[r.done:])
	return r.out.String()
}

// redrawPlain does so where only fences at the left edge are understood.
func redrawPlain(src string, draw func(Block) (string, bool)) string {
	var out strings.Builder
	done := 0
	for _, b := range plainBlocks([]byte(src)) {
		if b.Kind != Code {
			continue
		}
		if drawn, ok := draw(b); ok {
			out.WriteString(src[done:b.Start] + strings.TrimRight(drawn, "\n"))
			done = b.End
		}
	}
	return out.String() + src[done:]
}

type redrawing struct {
	src  []byte
	draw func(Block) (string, bool)
	out  bytes.Buffer
	done int // how much of src is in out
}

func (r *redrawing) walk(n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var start, pos, end int // of its lines, and the start of the block in the first of them
	switch n := n.(type) {
	case *extast.Table:
		pos = position(n)
		start, end = lineStart(r.src, pos), tableEnd(r.src, n)
	case *ast.FencedCodeBlock:
		start, pos, end = closedFence(r.src, n)
	case *ast.CodeBlock:
		start, pos, end = r.indented(n)
	default:
		return ast.WalkContinue, nil
	}
	if start < r.done || end < pos { // the first line of a list item, already written
		return ast.WalkSkipChildren, nil
	}
	drawn, ok := r.draw(describe(r.src, n, start))
	if !ok {
		return ast.WalkSkipChildren, nil
	}
	r.out.Write(r.src[r.done:start])
	first, rest := prefixes(string(r.src[start:pos]))
	r.out.WriteString(prefixLines(strings.TrimRight(drawn, "\n"), first, rest))
	r.done = end
	return ast.WalkSkipChildren, nil
}

// indented gives the lines of indented code. Its indentation is not part of the prefix.
func (r *redrawing) indented(n *ast.CodeBlock) (start, pos, end int) {
	lines := n.Lines()
	if lines.Len() == 0 {
		return 0, 0, -1
	}
	first, last := lines.At(0), lines.At(lines.Len()-1)
	start = lineStart(r.src, first.Start)
	before := string(r.src[start:first.Start])
	kept := strings.TrimRight(before, " \t")
	if spaces := before[len(kept):]; len(spaces) > 4 && !strings.Contains(spaces, "\t") {
		kept += spaces[4:]
	}
	_, end = trimBlank(r.src, start, last.Stop)
	return start, start + len(kept), end
}
