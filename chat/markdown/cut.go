package markdown

import (
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// maxFence is how long a fence may be that is kept.
const maxFence = 12

// cutCode cuts code between lines, and each piece gets the fence.
func (s splitter) cutCode(block, code string, first int) []string {
	fence, info := fenceOf(block)
	if s.length(info) > s.max/4 || strings.Contains(info, fence[:1]) || strings.TrimSpace(code) == "" {
		info, code = "", info+"\n"+code
	}
	opening, closing := fence+info+"\n", "\n"+fence
	inner := s
	inner.max -= s.length(opening) + s.length(closing)
	p := inner.packer(first - (s.max - inner.max))
	between := "\n"
	for line := range strings.SplitSeq(strings.TrimRight(code, "\n"), "\n") {
		if strings.TrimSpace(line) == "" {
			between += "\n"
			continue
		}
		p.addLine(line, between, fence)
		between = "\n"
	}
	parts := p.flush()
	for i, part := range parts {
		if part != "" {
			parts[i] = opening + part + closing
		}
	}
	return parts
}

// addLine adds a line of code, in pieces if it is longer than a part. What
// would end the fence is indented, so that it doesn't.
func (p *packer) addLine(line, between, fence string) {
	const indent = "    "
	for rest := line; ; {
		n := len(rest)
		room := p.max - p.length(indent)
		if long := p.length(rest); long > p.max || long > room && endsFence(rest, fence) {
			n = clusters(rest, p.fit(rest, room))
		}
		what := piece{text: rest[:n], between: between}
		if endsFence(what.text, fence) {
			what.text = indent + what.text
		}
		if !p.append(what) {
			p.end()
			p.appendPiece(what)
		}
		if rest = rest[n:]; rest == "" {
			return
		}
		between = "\n"
	}
}

// fenceOf gives the fence of a code block and the text behind it. Indented code, and
// code with a very long fence, gets a new one.
func fenceOf(block string) (fence, info string) {
	line, _, _ := strings.Cut(block, "\n")
	line = strings.TrimLeft(line, " ")
	if line != "" && (line[0] == '`' || line[0] == '~') && !strings.HasPrefix(block, "    ") {
		info = strings.TrimLeft(line, line[:1])
		fence, info = line[:len(line)-len(info)], strings.TrimSpace(info)
	}
	if len(fence) < 3 || len(fence) > maxFence {
		fence = "```"
	}
	return fence, info
}

func endsFence(line, fence string) bool {
	line = strings.TrimRight(line, " \t")
	run := strings.TrimLeft(line, " ")
	return len(line)-len(run) < 4 && len(run) >= len(fence) && strings.Trim(run, fence[:1]) == ""
}

// cutTable cuts a table between its rows, and each piece gets the header.
func (s splitter) cutTable(block string, first int) []string {
	lines := strings.SplitN(block, "\n", 3)
	if len(lines) < 3 || s.length(lines[0]+lines[1]) > s.max/2 {
		return s.cutPlain(block, first)
	}
	header := lines[0] + "\n" + lines[1] + "\n"
	inner := s
	inner.max -= s.length(header)
	p := inner.packer(first - s.length(header))
	whole := map[int]bool{} // parts that need no header
	for row := range strings.SplitSeq(lines[2], "\n") {
		cut := func(int) []string {
			p.end()
			pieces := s.cutPlain(strings.Trim(row, blank), s.max)
			if len(p.parts) == 0 || p.parts[len(p.parts)-1] == "" {
				pieces = append([]string{strings.TrimRight(header, blank)}, pieces...)
			}
			for _, text := range pieces {
				whole[len(p.parts)] = true
				p.parts = append(p.parts, text)
			}
			return nil
		}
		p.add(piece{text: row, between: "\n", cut: cut})
	}
	parts := p.flush()
	for i, part := range parts {
		if part != "" && !whole[i] {
			parts[i] = header + part
		}
	}
	return parts
}

// cutList cuts a list between its items, and items between their blocks.
func (s splitter) cutList(block string, first int) []string {
	src := []byte(block)
	list, ok := blockParser.Parse(text.NewReader(src)).FirstChild().(*ast.List)
	if !ok {
		return s.cutPlain(block, first)
	}
	p := s.packer(first)
	end := 0
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		start, stop := lineStart(src, n.Pos()), len(src)
		if n == list.FirstChild() {
			start = 0
		}
		if next := n.NextSibling(); next != nil {
			stop = lineStart(src, next.Pos())
		}
		if start, stop = trimBlank(src, max(start, end), stop); start == stop {
			continue
		}
		what := piece{text: block[start:stop], between: between(block[end:start])}
		width := 0
		if item, ok := n.(*ast.ListItem); ok {
			width = item.Offset
		}
		what.cut = func(first int) []string {
			return s.cutItem(what.text, width, first)
		}
		p.add(what)
		end = stop
	}
	return p.flush()
}

// cutItem cuts a list item. The first piece keeps the marker; the others are
// no longer indented, which would make them code where a part begins.
func (s splitter) cutItem(item string, width, first int) []string {
	marker, content := dedent(item, width)
	indent := strings.Repeat(" ", width)
	inner, ok := s.within(indent)
	if !ok {
		return s.cutPlain(item, first)
	}
	parts := inner.split(content, first-(s.max-inner.max))
	for i, part := range parts {
		if part != "" {
			parts[i] = prefixLines(part, marker, indent)
			return parts
		}
	}
	return append(parts, strings.TrimSpace(marker)) // nothing was in it
}

// cutQuote cuts the content of a quote; each piece is a quote again.
func (s splitter) cutQuote(block string, first int) []string {
	const mark = "> "
	inner, ok := s.within(mark)
	if !ok {
		return s.cutPlain(block, first)
	}
	lines := strings.Split(block, "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		if quoted, ok := strings.CutPrefix(text, ">"); ok && len(line)-len(text) < 4 {
			lines[i] = strings.TrimPrefix(quoted, " ")
		}
	}
	parts := inner.split(strings.Join(lines, "\n"), first-(s.max-inner.max))
	for i, part := range parts {
		if part != "" {
			parts[i] = prefixLines(part, mark, mark)
		}
	}
	return parts
}

// within gives the splitter for the content of a container: it reserves room for the
// prefix of every line. False if too little is left.
func (s splitter) within(prefix string) (splitter, bool) {
	length, n := s.length, s.length(prefix)
	s.length = func(t string) int { return length(t) + n*strings.Count(t, "\n") }
	s.max -= n
	return s, s.max >= Least/2 && s.length("\n") <= s.max/8
}

// dedent takes the marker from a list item, and the indentation that goes with
// it from its other lines. Those with less only go on a paragraph, and stay.
func dedent(item string, width int) (marker, content string) {
	lines := strings.Split(item, "\n")
	for i, line := range lines {
		at, column := 0, 0
		for at < len(line) && column < width && (i == 0 || line[at] == ' ' || line[at] == '\t') {
			if line[at] == '\t' {
				column += 4 - column%4
			} else {
				column++
			}
			at++
		}
		if i == 0 {
			marker = strings.TrimRight(line[:at], blank) + " "
		}
		if i == 0 || column >= width {
			lines[i] = strings.Repeat(" ", max(0, column-width)) + line[at:]
		}
	}
	return marker, strings.Join(lines, "\n")
}

var fenceLine = regexp.MustCompile("(?m)^([ \t>*+\\-0-9.)]*)(```|~~~)")

// cutPlain cuts a text without a known structure.
func (s splitter) cutPlain(src string, first int) []string {
	return s.cutText(escapeFences(src), nil, first)
}

// escapeFences escapes lines that would open a fence, and might lose its end in a cut.
func escapeFences(src string) string {
	return fenceLine.ReplaceAllString(src, `$1\$2`)
}
