package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Plain gives a text without markup, for places that draw none: links show their
// address, tables are aligned, code stays unchanged.
func Plain(src string) string {
	if !tame(src) || !plainWords(src) {
		return strings.TrimSpace(src)
	}
	p := plain{src: []byte(src)}
	return strings.Trim(p.blocks(inlineParser.Parse(text.NewReader(p.src)), "\n\n"), "\n")
}

// plainCell is Plain for a single line without blocks.
func plainCell(s string) string {
	if plainWords(s) {
		p := plain{src: []byte(s)}
		s = p.blocks(cellParser.Parse(text.NewReader(p.src)), " ")
	}
	return strings.Join(strings.Fields(s), " ")
}

type plain struct {
	src   []byte
	style *Style // nil: no markup at all
}

// blocks gives the children of a node that holds blocks.
func (p plain) blocks(parent ast.Node, between string) string {
	var out []string
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if s := p.block(n); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, between)
}

func (p plain) block(n ast.Node) string {
	switch n := n.(type) {
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		return p.fenced(string(n.Lines().Value(p.src)))
	case *ast.Heading:
		if p.style != nil && p.style.Strong != "" {
			return p.heading(n)
		}
	case *ast.HTMLBlock:
		s := string(n.Lines().Value(p.src))
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(p.src))
		}
		return p.escape(strings.TrimRight(s, "\n"))
	case *ast.List:
		return p.list(n)
	case *ast.Blockquote:
		return prefixLines(p.blocks(n, "\n\n"), "> ", "> ")
	case *ast.ThematicBreak:
		return "———"
	case *extast.Table:
		return p.fenced(AlignedTable(gridOf(p.src, n)))
	case *ast.LinkReferenceDefinition:
		return ""
	}
	var out strings.Builder
	p.inline(&out, n)
	return strings.TrimSpace(out.String())
}

// heading is strong as a whole, and drops strong parts inside.
func (p plain) heading(n *ast.Heading) string {
	inner := *p.style
	inner.Strong = ""
	var out strings.Builder
	plain{src: p.src, style: &inner}.inline(&out, n)
	if said := strings.TrimSpace(out.String()); said != "" {
		return p.style.Strong + said + p.style.Strong
	}
	return ""
}

func (p plain) list(n *ast.List) string {
	between := "\n\n"
	if n.IsTight {
		between = "\n"
	}
	var out []string
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		_, rest := prefixes(marker)
		out = append(out, prefixLines(p.blocks(item, between), marker, rest))
	}
	return strings.Join(out, between)
}

// inline writes the children of a node that holds text.
func (p plain) inline(out *strings.Builder, parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			out.WriteString(p.escape(string(p.unescape(n))))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte('\n')
			}
		case *ast.String:
			out.WriteString(p.escape(string(n.Value)))
		case *ast.Emphasis:
			p.around(out, n, func(s *Style) string {
				if n.Level > 1 {
					return s.Strong
				}
				return s.Emph
			})
		case *extast.Strikethrough:
			p.around(out, n, func(s *Style) string { return s.Strike })
		case *ast.CodeSpan:
			mark := ""
			if p.style != nil {
				mark = p.style.Code
			}
			out.WriteString(mark)
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					out.WriteString(p.escape(strings.ReplaceAll(string(t.Value(p.src)), "\n", " ")))
				}
			}
			out.WriteString(mark)
		case *ast.Link:
			p.link(out, n, string(n.Destination))
		case *ast.Image:
			p.link(out, n, string(n.Destination))
		case *ast.AutoLink:
			out.WriteString(p.escape(string(n.Label(p.src))))
		case *ast.RawHTML:
			out.WriteString(p.escape(string(n.Segments.Value(p.src))))
		case *extast.TaskCheckBox:
			if n.IsChecked {
				out.WriteString("[x] ")
			} else {
				out.WriteString("[ ] ")
			}
		default:
			p.inline(out, n)
		}
	}
}

func (p plain) unescape(n *ast.Text) []byte {
	value := util.UnescapePunctuations(n.Value(p.src))
	value = util.ResolveNumericReferences(value)
	return util.ResolveEntityNames(value)
}

func (p plain) link(out *strings.Builder, n ast.Node, to string) {
	var label strings.Builder
	p.inline(&label, n)
	said := strings.TrimSpace(label.String())
	if p.style != nil && p.style.Link != nil && harmless([]byte(to)) {
		out.WriteString(p.style.Link(said, to))
		return
	}
	to = p.escape(to)
	switch {
	case to == "" || said == to || "mailto:"+said == to:
		out.WriteString(said)
	case said == "":
		out.WriteString(to)
	default:
		out.WriteString(said + " (" + to + ")")
	}
}
