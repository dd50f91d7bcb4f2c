package markdown

import (
	"strings"
	"unicode/utf16"

	"github.com/yuin/goldmark/ast"
)

// Least is the smallest limit that [Split] keeps to.
const Least = 100

// UTF16 counts as JavaScript does, in UTF-16 code units.
func UTF16(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// Head is the beginning of a text, of at most most UTF-16 code units.
func Head(s string, most int) string {
	n := 0
	for i, r := range s {
		if n += max(1, utf16.RuneLen(r)); n > most {
			return s[:i]
		}
	}
	return s
}

// Split cuts the text into parts. Each can stand alone, and none is longer than limit,
// counted by length: [UTF16], or another function with length(a+b) = length(a)+length(b).
// A limit below [Least] counts as Least.
//
// It cuts between blocks. If one block is too long, it cuts between list items, table
// rows (repeating the header), lines of code (closing and opening the fence again),
// lines, sentences, words, and only then within a word. A heading stays with the next
// block. Open fences are closed. Split adds nothing else, except a backslash where a cut
// would turn plain text into markup, and leaves out only blank space.
//
// Emphasis that reaches over a cut is not carried on, and a reference such as
// [a][1] leads nowhere in a part that doesn't hold its definition.
func Split(src string, limit int, length func(string) int) []string {
	src = strings.ToValidUTF8(src, "\uFFFD")
	src = strings.ReplaceAll(src, "\r\n", "\n")
	s := splitter{max: max(limit, Least), length: length}
	if !tame(src) {
		return s.finish(s.split(src, s.max))
	}
	src = closeFences(src)
	if length(src) <= s.max {
		return s.finish([]string{src})
	}
	return s.finish(s.split(src, s.max))
}

// splitter cuts text. Its methods that take a limit named first give parts of
// which the first keeps to that one and the others to max; the first part is
// empty where nothing fits.
type splitter struct {
	max    int
	length func(string) int
}

func (s splitter) finish(parts []string) []string {
	var out []string
	for _, p := range parts {
		if start, end := trimBlank([]byte(p), 0, len(p)); strings.TrimSpace(p) != "" {
			out = append(out, p[start:end])
		}
	}
	return out
}

// split cuts text at the ends of its blocks.
func (s splitter) split(src string, first int) []string {
	p := s.packer(first)
	end := 0
	text := false // the block before is text
	for _, b := range Blocks(src) {
		block, gap := src[b.Start:b.End], src[end:b.Start]
		if text && strings.Count(gap, "\n") == 1 && b.beginsAsText(block) {
			block = disarm(block) // as the first of a part it might be something else
		}
		text = b.is(ast.KindParagraph) || b.is(ast.KindLinkReferenceDefinition)
		if b.node == nil && b.Kind != Code {
			block = escapeFences(block)
		}
		p.add(piece{
			text:    block,
			between: between(gap),
			heading: b.Kind == Heading,
			cut:     func(first int) []string { return s.cut(block, b, first) },
		})
		end = b.End
	}
	return p.flush()
}

// beginsAsText says whether the block begins with text rather than markup.
func (b Block) beginsAsText(block string) bool {
	return b.Kind == Table || b.is(ast.KindParagraph) || b.is(ast.KindHeading) && !strings.HasPrefix(strings.TrimLeft(block, " "), "#")
}

// between gives the separator for this blank space of the source: the same, or one
// blank line for many.
func between(gap string) string {
	if len(gap) <= 4 {
		return gap
	}
	return "\n\n"
}

// cut takes apart a block that is too long.
func (s splitter) cut(block string, b Block, first int) []string {
	switch b.Kind {
	case Code:
		return s.cutCode(block, b.Text, first)
	case Table:
		return s.cutTable(block, first)
	case List:
		return s.cutList(block, first)
	case Quote:
		return s.cutQuote(block, first)
	}
	block = escapeFences(block)
	if b.is(ast.KindParagraph) || b.is(ast.KindHeading) {
		return s.cutText(block, inlines(block), first)
	}
	return s.cutText(block, nil, first)
}

// piece is a unit of packing.
type piece struct {
	text    string
	between string // separates it from the piece before
	heading bool   // must not be the last of a part
	cut     func(first int) []string
}

// packer fills parts one after the other.
type packer struct {
	splitter
	first int // the limit of the first part

	parts   []string
	part    []byte
	used    int  // length of part
	heading int  // where in part the headings begin after which nothing has come; -1: none
	apart   bool // part ends in a piece of a block, and the next piece must not continue it
}

func (s splitter) packer(first int) *packer {
	p := &packer{splitter: s, first: first, heading: -1}
	if first < s.max/4 {
		p.parts = []string{""}
	}
	return p
}

func (p *packer) limit() int {
	if len(p.parts) == 0 {
		return p.first
	}
	return p.max
}

// add puts the piece into the current part or a new one, or cuts it.
func (p *packer) add(what piece) {
	if p.append(what) {
		return
	}
	p.keepHeading()
	if p.heading < 0 && p.length(what.text) <= p.max {
		p.end()
	}
	if p.append(what) {
		return
	}
	room := p.limit() - p.used - p.length(p.gap(what))
	if room < p.limit()/4 {
		p.end()
		room = p.limit()
	}
	for i, text := range what.cut(room) {
		if i > 0 {
			p.end()
		}
		p.appendPiece(piece{text: text, between: what.between})
	}
	p.apart = true
}

// append adds the piece to the part at hand if it fits.
func (p *packer) append(what piece) bool {
	if p.used+p.length(p.gap(what))+p.length(what.text) > p.limit() {
		return false
	}
	p.appendPiece(what)
	return true
}

// appendPiece adds the piece to the current part.
func (p *packer) appendPiece(what piece) {
	if what.text == "" {
		return
	}
	gap := p.gap(what)
	p.part = append(p.part, gap...)
	switch {
	case !what.heading:
		p.heading = -1
	case p.heading < 0:
		p.heading = len(p.part)
	}
	p.part = append(p.part, what.text...)
	p.used += p.length(gap) + p.length(what.text)
	p.apart = false
}

// gap gives the separator before the piece.
func (p *packer) gap(what piece) string {
	switch {
	case len(p.part) == 0:
		return ""
	case p.apart:
		return "\n\n"
	}
	return what.between
}

// keepHeading ends the part before its last headings, which open the next.
func (p *packer) keepHeading() {
	if p.heading <= 0 {
		return
	}
	headings := string(p.part[p.heading:])
	p.part = p.part[:p.heading]
	p.end()
	p.appendPiece(piece{text: headings, heading: true})
}

// end closes the part at hand. The first is closed even when it is empty, so
// that the next has the full limit.
func (p *packer) end() {
	if len(p.part) == 0 && (len(p.parts) > 0 || p.first == p.max) {
		return
	}
	p.parts = append(p.parts, strings.TrimRight(string(p.part), blank))
	p.part, p.used, p.heading = p.part[:0], 0, -1
}

func (p *packer) flush() []string {
	if len(p.part) > 0 {
		p.end()
	}
	return p.parts
}
