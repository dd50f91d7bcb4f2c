package markdown

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/mattn/go-runewidth"
	extast "github.com/yuin/goldmark/extension/ast"
)

// Align says to which side the cells of a column go.
type Align int

// The alignments of a column.
const (
	Left Align = iota
	Right
	Center
)

// Grid is the content of a table. Every row has as many cells as the header; a cell is
// CommonMark without line breaks.
type Grid struct {
	Align  []Align
	Header []string
	Rows   [][]string
}

// lineBreak is how models write a line break in a cell.
var lineBreak = regexp.MustCompile(`(?i)\s*<br\s*/?>\s*`)

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
			value := Outside(string(cell.Lines().Value(src)), func(s string) string { return lineBreak.ReplaceAllString(s, " ") }, func(s string) string { return s })
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

// prefixes gives the prefix of a block's first line, and of its other lines, so that
// they stay in the same quotes and items.
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

// Width is how many columns the longest line of a text takes in a fixed-width
// font.
func Width(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, columns.StringWidth(strings.TrimRight(line, "\r\n")))
	}
	return most
}

// Records draws a table as a list, an item for each row, for where its lines
// would be too long to stand side by side. The cells keep their markup.
func Records(g *Grid) string {
	var out strings.Builder
	for _, row := range g.Rows {
		var rest []string
		for c, cell := range row {
			if c == 0 || cell == "" {
				continue
			}
			if g.Header[c] != "" {
				cell = g.Header[c] + ": " + cell
			}
			rest = append(rest, cell)
		}
		name := strings.Trim(row[0], "*")
		if name == "" {
			name = "—"
		}
		out.WriteString("- **" + name + "**")
		if len(rest) > 0 {
			out.WriteString(" — " + strings.Join(rest, " · "))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

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
			widths[c] = max(widths[c], min(columns.StringWidth(cells[r][c]), maxPadded), 1)
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

// maxPadded is the largest padded width of cells; a wider cell sticks out. Otherwise
// one long cell would widen every row.
const maxPadded = 150

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
