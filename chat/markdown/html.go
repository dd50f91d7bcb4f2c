package markdown

import (
	"bytes"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	ghtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// HTML draws a text for a browser. Only CommonMark becomes markup. HTML in the text is
// shown as text. A picture becomes a link, so that nothing is fetched without a click.
// An address in the text is a link. A link goes to the web or to a mailbox, or is none;
// it opens elsewhere and does not reveal its page.
func HTML(src string) string {
	if !tame(src) || !plainWords(src) {
		return `<p class="plain">` + html.EscapeString(src) + "</p>"
	}
	source := []byte(src)
	doc := safeParser.Parse(text.NewReader(source))
	defuse(doc, source)
	var b bytes.Buffer
	if err := safeRenderer.Render(&b, source, doc); err != nil {
		return `<p class="plain">` + html.EscapeString(src) + "</p>"
	}
	return b.String()
}

// mailAddress is one in a text. Its last part is letters, since a version such as pkg@1.2 is
// none.
var mailAddress = regexp.MustCompile(`^[a-zA-Z0-9.!#$%&'*+/=?^_{|}~-]+@(?:[a-zA-Z0-9-]+\.)+[a-zA-Z]+\b`)

// safeParser knows no HTML: tags are text.
var safeParser = parser.NewParser(
	parser.WithBlockParsers(without(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
	parser.WithInlineParsers(without(inlineParsers, parser.NewRawHTMLParser())...),
	parser.WithInlineParsers(util.Prioritized(extension.NewLinkifyParser(extension.WithLinkifyEmailRegexp(mailAddress)), 999)),
	tableParser,
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
)

var safeRenderer = renderer.NewRenderer(renderer.WithNodeRenderers(
	util.Prioritized(ghtml.NewRenderer(ghtml.WithHardWraps()), 1000),
	util.Prioritized(extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), 500),
	util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500),
	util.Prioritized(extension.NewTaskCheckBoxHTMLRenderer(), 500),
	util.Prioritized(colours{}, 500),
))

// without leaves a parser out. Those of goldmark are singletons.
func without(all []util.PrioritizedValue, one any) []util.PrioritizedValue {
	return slices.DeleteFunc(slices.Clone(all), func(v util.PrioritizedValue) bool { return v.Value == one })
}

// defuse makes pictures links, and links that lead nowhere good text.
func defuse(doc ast.Node, source []byte) {
	var links []ast.Node
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.Link, *ast.Image, *ast.AutoLink:
			if !entering { // children first
				links = append(links, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, n := range links {
		switch n := n.(type) {
		case *ast.Link:
			if !harmless(n.Destination) {
				unwrap(n)
				continue
			}
			elsewhere(n)
		case *ast.AutoLink:
			if n.AutoLinkType == ast.AutoLinkURL && !harmless(n.URL(source)) {
				n.Parent().ReplaceChild(n.Parent(), n, ast.NewString(n.Label(source)))
				continue
			}
			elsewhere(n)
		case *ast.Image:
			defuseImage(n)
		}
	}
}

func defuseImage(n *ast.Image) {
	if !harmless(n.Destination) || within(n) {
		unwrap(n)
		return
	}
	link := ast.NewLink()
	link.Destination, link.Title = n.Destination, n.Title
	if n.FirstChild() == nil {
		link.AppendChild(link, ast.NewString(n.Destination))
	}
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		link.AppendChild(link, c)
	}
	n.Parent().ReplaceChild(n.Parent(), n, link)
	elsewhere(link)
}

// within says whether a node is in a link.
func within(n ast.Node) bool {
	for p := n.Parent(); p != nil; p = p.Parent() {
		if p.Kind() == ast.KindLink {
			return true
		}
	}
	return false
}

func elsewhere(n ast.Node) {
	n.SetAttributeString("target", []byte("_blank"))
	n.SetAttributeString("rel", []byte("noopener noreferrer nofollow"))
}

// unwrap replaces a node by its children.
func unwrap(n ast.Node) {
	p := n.Parent()
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		p.InsertBefore(p, n, c)
	}
	p.RemoveChild(p, n)
}

// harmless says whether an address is one of the web, or of a mailbox.
func harmless(address []byte) bool {
	a := strings.ToLower(strings.TrimSpace(string(address)))
	return slices.ContainsFunc([]string{"http://", "https://", "mailto:"}, func(scheme string) bool { return strings.HasPrefix(a, scheme) })
}
