package markdown

import "strings"

const (
	maxBytes       = 1 << 20 // of a text that is parsed at all
	maxNesting     = 20      // quotes and list items in each other
	maxInCode      = 256     // the same of a line that seems to be code, and so would cost nothing
	maxPipes       = 256     // in a line
	maxColumns     = 256     // of a table
	maxMissing     = 5000    // cells that the rows of tables lack, which the parser makes
	maxBrackets    = 2000    // of a text whose links are parsed
	maxTildes      = 2000    // of a text in which things are struck out
	maxDefinitions = 500     // of the links of a text
)

// tame says whether the text can be parsed in linear time: nesting, wide tables and
// link definitions cost the parser the square of their number. Code costs nothing. But
// only the parser knows for sure which text is code, so code has a limit too.
func tame(src string) bool {
	if len(src) > maxBytes {
		return false
	}
	var f fences
	var text, code lists
	var t tables
	definitions := 0
	for line := range strings.Lines(src) {
		l, most, pipes := &text, maxNesting, maxPipes
		if f.addLine(line) {
			l, most, pipes = &code, maxInCode, 4*maxInCode
		}
		if strings.HasPrefix(strings.TrimLeft(line, " \t>"), "[") {
			definitions++
		}
		if nesting(line) > most || l.addLine(line) > most || strings.Count(line, "|") > pipes ||
			t.addLine(line) > maxMissing || definitions > maxDefinitions {
			return false
		}
	}
	return true
}

// plainWords says whether the inline text can be parsed in linear time.
func plainWords(src string) bool {
	return strings.Count(src, "[") <= maxBrackets && strings.Count(src, "~") <= maxTildes
}

// lists follows how deep items stand in each other by their indentation.
type lists struct{ at []int } // the columns of those that are open

// addLine returns the depth of the list items that are open in a line.
func (l *lists) addLine(line string) int {
	text := strings.TrimLeft(line, " \t>")
	digits := strings.TrimLeft(text, "0123456789")
	if digits == text && !opensWith(text, "-+*") || digits != text && !opensWith(digits, ".)") {
		return len(l.at)
	}
	column := 0
	for _, c := range line[:len(line)-len(text)] {
		if column++; c == '\t' {
			column += 3 - (column-1)%4
		}
	}
	for len(l.at) > 0 && l.at[len(l.at)-1] >= column {
		l.at = l.at[:len(l.at)-1]
	}
	l.at = append(l.at, column)
	return len(l.at)
}

// tables counts the cells that rows lack: the parser makes as many of each row as
// the table has columns.
type tables struct{ columns, missing int }

// addLine counts the tables of the text so far.
func (t *tables) addLine(line string) int {
	text := strings.Trim(line, blank+">")
	switch pipes := strings.Count(text, "|"); {
	case text == "":
		t.columns = 0
	case strings.Contains(text, "-") && strings.Trim(text, "|-: \t") == "":
		t.columns = max(t.columns, pipes)
	case t.columns > 0:
		t.missing += max(0, t.columns-pipes)
	}
	return t.missing
}

// nesting counts the quotes and list items that a line opens.
func nesting(line string) int {
	n := 0
	for {
		line = strings.TrimLeft(line, " \t")
		rest := strings.TrimLeft(line, "0123456789")
		switch {
		case strings.HasPrefix(line, ">"):
			line = line[1:]
		case rest == line && opensWith(rest, "-+*"), rest != line && opensWith(rest, ".)"):
			line = rest[1:]
		default:
			return n
		}
		n++
	}
}

// opensWith says whether a text begins with one of these characters, and blank
// space after it, as the marker of a list item does.
func opensWith(text, any string) bool {
	return text != "" && strings.IndexByte(any, text[0]) >= 0 && (len(text) == 1 || isSpace(text[1]))
}

// fences follows fences line by line, as far as that works without their container: it
// does not see quotes.
type fences struct {
	open string
	// sure accepts a fence only at the margin, outside of list items, and not behind
	// possible HTML.
	sure bool
	html bool // a line that may be HTML has come
}

// addLine says whether a line is in a fence, or is one.
func (f *fences) addLine(line string) bool {
	line = strings.TrimRight(line, blank)
	if !f.sure {
		line = strings.TrimLeft(line, blank)
	}
	if f.open != "" {
		if endsFence(line, f.open) {
			f.open = ""
		}
		return true
	}
	f.html = f.html || f.sure && strings.HasPrefix(strings.TrimLeft(line, blank+">-+*.)0123456789"), "<")
	run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
	if run == "" {
		run = line[:len(line)-len(strings.TrimLeft(line, "~"))]
	} else if strings.Contains(line[len(run):], "`") {
		return false // code within a line
	}
	if len(run) < 3 || f.html {
		return false
	}
	f.open = run
	return true
}

// plainBlocks splits a text that is too hard to parse: into sure, closed fences, and
// text between them.
func plainBlocks(src []byte) []Block {
	var out []Block
	f := fences{sure: true}
	from, at := 0, 0 // where the block at hand and the line begin
	for line := range strings.Lines(string(src)) {
		inside := f.open != ""
		fenced := f.addLine(line)
		end := at + len(line)
		switch {
		case fenced && !inside:
			out = append(out, onlyText(src, from, at)...)
			from = at
		case inside && f.open == "":
			out = append(out, codeBlock(src, from, end))
			from = end
		}
		at = end
	}
	return append(out, onlyText(src, from, len(src))...)
}

// onlyText takes a range for one paragraph.
func onlyText(src []byte, start, end int) []Block {
	if start, end = trimBlank(src, start, end); start == end {
		return nil
	}
	return []Block{{Kind: Paragraph, Start: start, End: end}}
}

// codeBlock takes a range of whole lines for a code block; the first and the
// last are its fences.
func codeBlock(src []byte, start, end int) Block {
	start, end = trimBlank(src, start, end)
	whole := string(src[start:end])
	first, rest, _ := strings.Cut(whole, "\n")
	inner := ""
	if i := strings.LastIndexByte(rest, '\n'); i >= 0 {
		inner = rest[:i+1]
	}
	info := strings.Fields(strings.TrimLeft(first, "`~"))
	b := Block{Kind: Code, Start: start, End: end, Text: inner}
	if len(info) > 0 {
		b.Lang = info[0]
	}
	return b
}
