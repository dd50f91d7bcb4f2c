package markdown

import (
	"bytes"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Align says to which side the cells of a column go.
type Align int

// The alignments of a column.
const (
	Left Align = iota
	Right
	Center
)

// Grid is what a table says. Every row has as many cells as the header; a cell
// is CommonMark without line breaks.
type Grid struct {
	Align  []Align
	Header []string
	Rows   [][]string
}

func gridOf(src []byte, n *extast.Table) *Grid {
	g := &Grid{}
	for _, a := range n.Alignments {
		switch a {
		case extast.AlignRight:
			g.Align = append(g.Align, Right)
		case extast.AlignCenter:
			g.Align = append(g.Align, Center)
		default:
			g.Align = append(g.Align, Left)
		}
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		cells := make([]string, 0, len(g.Align))
		for cell := row.FirstChild(); cell != nil && len(cells) < len(g.Align); cell = cell.NextSibling() {
			value := string(cell.Lines().Value(src))
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(value), `\|`, "|"))
		}
		for len(cells) < len(g.Align) {
			cells = append(cells, "")
		}
		if row.Kind() == extast.KindTableHeader {
			g.Header = cells
		} else {
			g.Rows = append(g.Rows, cells)
		}
	}
	return g
}

// Tables replaces every table of the text by what draw makes of it, also those
// within lists and quotes. The rest of the text stays as it is.
func Tables(src string, draw func(*Grid) string) string {
	if !strings.Contains(src, "|") || !tame(src) {
		return src
	}
	source := []byte(src)
	var out bytes.Buffer
	done := 0
	walk := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		table, ok := n.(*extast.Table)
		if !entering || !ok {
			return ast.WalkContinue, nil
		}
		pos := position(table)
		start := lineStart(source, pos)
		end := tableEnd(source, table)
		if start < done { // the first line of a list item, already written
			return ast.WalkSkipChildren, nil
		}
		out.Write(source[done:start])
		first, rest := prefixes(string(source[start:pos]))
		out.WriteString(prefixLines(strings.TrimRight(draw(gridOf(source, table)), "\n"), first, rest))
		done = end
		return ast.WalkSkipChildren, nil
	}
	_ = ast.Walk(blockParser.Parse(text.NewReader(source)), walk) // walk returns no error
	out.Write(source[done:])
	return out.String()
}

// tableEnd gives where the last line of a table ends, before its newline.
func tableEnd(src []byte, table *extast.Table) int {
	last := table.LastChild()
	end := lineEnd(src, last.Pos())
	if last.Kind() == extast.KindTableHeader { // no rows: the line of dashes is the last
		end = lineEnd(src, min(end+1, len(src)))
	}
	return end
}

func lineEnd(src []byte, at int) int {
	if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(src)
}

// prefixes gives what stands before a block in its first line, and what has to
// stand before its other lines so that they stay in the same quotes and items.
func prefixes(before string) (first, rest string) {
	rest = strings.Map(func(r rune) rune {
		if r == '>' || r == '\t' {
			return r
		}
		return ' '
	}, before)
	return before, rest
}

func prefixLines(s, first, rest string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = first + line
		case line == "":
			lines[i] = strings.TrimRight(rest, " \t")
		default:
			lines[i] = rest + line
		}
	}
	return strings.Join(lines, "\n")
}

// columns measures text in the columns of a fixed-width font; characters that
// may be one or two columns wide count as one.
var columns = &runewidth.Condition{}

// AlignedTable draws a table in lines of fixed-width text: for a code block
// (see [Fence]) or a terminal. Cells lose their markup.
func AlignedTable(g *Grid) string {
	rows := append([][]string{g.Header}, g.Rows...)
	cells := make([][]string, len(rows))
	widths := make([]int, len(g.Align))
	for r, row := range rows {
		cells[r] = make([]string, len(g.Align))
		for c := range cells[r] {
			if c < len(row) {
				cells[r][c] = plainCell(row[c])
			}
			widths[c] = max(widths[c], columns.StringWidth(cells[r][c]), 1)
		}
	}
	var out strings.Builder
	for r, row := range cells {
		line := make([]string, len(row))
		for c, cell := range row {
			line[c] = align(cell, widths[c], g.Align[c])
		}
		out.WriteString(strings.TrimRight(strings.Join(line, "  "), " ") + "\n")
		if r > 0 {
			continue
		}
		for c, w := range widths {
			line[c] = strings.Repeat("-", w)
		}
		out.WriteString(strings.Join(line, "  ") + "\n")
	}
	return out.String()
}

func align(cell string, width int, to Align) string {
	space := max(0, width-columns.StringWidth(cell))
	before := 0
	switch to {
	case Right:
		before = space
	case Center:
		before = space / 2
	}
	return strings.Repeat(" ", before) + cell + strings.Repeat(" ", space-before)
}

// Fence makes a code block of the text, with a fence that nothing in it ends.
func Fence(lang, code string) string {
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
	return fence + strings.ReplaceAll(lang, "`", "") + "\n" + strings.TrimRight(code, "\n") + "\n" + fence
}
