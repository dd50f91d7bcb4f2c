// Package markdown prepares CommonMark for places that take less of it than a model
// writes: messages of a limited size, clients that draw no tables, and those that
// draw nothing at all.
//
// Text is cut at the ends of blocks, and a block is a range of the source. The rest is
// copied as written, never rendered again, so nothing is lost if a dialect knows more
// than this package. It knows no platform, dialect or limit.
//
// The text comes from a model and may be hostile. Text that would take long to parse,
// such as thousands of nested quotes, counts as plain.
package markdown

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Kind is the kind of a block.
type Kind int

// The kinds of blocks. Whatever has no kind of its own, such as HTML and the
// definitions of link references, is a Paragraph.
const (
	Paragraph Kind = iota
	Heading
	Code
	List
	Table
	Quote
	Rule
)

// Block is one block of the top level. The blocks of a text are in its order,
// don't overlap, and leave out nothing but blank space between them.
type Block struct {
	Kind       Kind
	Start, End int    // in bytes of the source: whole lines, without the last newline
	Level      int    // of a Heading: 1 to 6
	Lang       string // of Code: the first word after the fence; may be empty
	Text       string // of Code: its content, without fences and indentation
	Grid       *Grid  // of a Table

	node ast.Node // nil where the source was too hard to understand
}

// is says whether the parser took the block for that.
func (b Block) is(kind ast.NodeKind) bool { return b.node != nil && b.node.Kind() == kind }

// Blocks takes the text apart.
func Blocks(src string) []Block {
	source := []byte(src)
	if !tame(src) {
		return plainBlocks(source)
	}
	return blocksOf(source, blockParser.Parse(text.NewReader(source)))
}

// blockParser finds blocks only; inlineParser also their content;
// cellParser takes everything for one paragraph.
var (
	blockParser = parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		tableParser,
	)
	inlineParser = parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(inlineParsers...),
		tableParser,
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
	cellParser = parser.NewParser(
		parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 100)),
		parser.WithInlineParsers(inlineParsers...),
	)

	tableParser = parser.WithParagraphTransformers(
		util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
		util.Prioritized(extension.NewTableParagraphTransformer(), 200),
	)
	inlineParsers = append(parser.DefaultInlineParsers(),
		util.Prioritized(extension.NewStrikethroughParser(), 500),
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
	)
)

// blocksOf gives the blocks below a node that holds blocks. Each reaches to
// where the next begins, so that nothing falls between two.
func blocksOf(src []byte, parent ast.Node) []Block {
	var all []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		all = append(all, describe(src, n, lineStart(src, position(n))))
	}
	if len(all) == 0 {
		return onlyText(src, 0, len(src))
	}
	// The parser puts a table within a heading before the heading.
	slices.SortStableFunc(all, func(a, b Block) int { return a.Start - b.Start })
	all[0].Start = 0
	out := all[:1]
	for _, b := range all[1:] {
		if last := &out[len(out)-1]; b.Start == last.Start {
			*last = Block{Start: last.Start} // two in one line are text
			continue
		}
		out = append(out, b)
	}
	for i := range out {
		end := len(src)
		if i+1 < len(out) {
			end = out[i+1].Start
		}
		out[i].Start, out[i].End = trimBlank(src, out[i].Start, end)
	}
	return out
}

func describe(src []byte, n ast.Node, start int) Block {
	b := Block{Start: start, node: n}
	switch n := n.(type) {
	case *ast.Heading:
		b.Kind, b.Level = Heading, n.Level
	case *ast.FencedCodeBlock:
		b.Kind, b.Lang = Code, string(n.Language(src))
		b.Text = string(n.Lines().Value(src))
	case *ast.CodeBlock:
		b.Kind, b.Text = Code, string(n.Lines().Value(src))
	case *ast.List:
		b.Kind = List
	case *extast.Table:
		b.Kind, b.Grid = Table, gridOf(src, n)
	case *ast.Blockquote:
		b.Kind = Quote
	case *ast.ThematicBreak:
		b.Kind = Rule
	}
	return b
}

// position gives where a block begins. The parser gives a table that follows
// on text the position of that text.
func position(n ast.Node) int {
	if n.Kind() == extast.KindTable && n.FirstChild() != nil {
		n = n.FirstChild()
	}
	return n.Pos()
}

func lineStart(src []byte, at int) int {
	at = min(max(at, 0), len(src))
	return bytes.LastIndexByte(src[:at], '\n') + 1
}

// trimBlank narrows a range of whole lines to those that are not blank. The
// first keeps its indentation, which may have a meaning.
func trimBlank(src []byte, start, end int) (int, int) {
	for end > start && isSpace(src[end-1]) {
		end--
	}
	for i := start; i < end && isSpace(src[i]); i++ {
		if src[i] == '\n' {
			start = i + 1
		}
	}
	return start, end
}

// blank is the space that has no meaning to CommonMark at the ends of a line.
const blank = " \t\r\n"

func isSpace(c byte) bool { return strings.IndexByte(blank, c) >= 0 }
