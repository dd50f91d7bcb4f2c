package document

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// readHTML makes Markdown of a page: of its main part, where it has one.
func readHTML(address string, body []byte) (Content, error) {
	page, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return Content{}, fmt.Errorf("it is no page that can be read (%w)", err)
	}
	at, err := url.Parse(address)
	if err != nil {
		return Content{}, err
	}
	c, node := Content{Title: pageTitle(page)}, page
	if main, ok := mainPart(page, at); ok {
		c.Title, node = cmp.Or(main.Title, c.Title), main.Node
	}
	dropEmbedded(node)
	conv := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone), table.WithSkipEmptyRows(true)),
	))
	var options []converter.ConvertOptionFunc
	if at.Host != "" { // else links stay as they are written
		options = append(options, converter.WithDomain(at.Scheme+"://"+at.Host))
	}
	text, err := conv.ConvertNode(node, options...)
	if err != nil {
		return Content{}, fmt.Errorf("it is no page that can be read (%w)", err)
	}
	c.Text = strings.TrimSpace(string(text))
	return c, nil
}

// mainPart finds the main part of a page, as Mozilla's Readability does. It says false
// where there is none: a list of links, a form.
func mainPart(page *html.Node, at *url.URL) (got readability.Article, ok bool) {
	p := readability.NewParser()
	p.MaxElemsToParse = 100_000
	if !p.CheckDocument(page) {
		return got, false
	}
	got, err := p.ParseDocument(page, at)
	return got, err == nil && got.Node != nil && strings.TrimSpace(got.TextContent) != ""
}

func pageTitle(page *html.Node) string {
	for n := range page.Descendants() {
		if n.DataAtom == atom.Title && n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			return strings.TrimSpace(n.FirstChild.Data)
		}
	}
	return ""
}

// dropEmbedded takes out pictures whose bytes stand in the page itself: they
// would be a page of letters.
func dropEmbedded(node *html.Node) {
	var gone []*html.Node
	for n := range node.Descendants() {
		if n.DataAtom != atom.Img && n.DataAtom != atom.Source && n.DataAtom != atom.A {
			continue
		}
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
			return (a.Key == "src" || a.Key == "href") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "data:")
		}) {
			gone = append(gone, n)
		}
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
}
