package document

import (
	"bytes"
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

// article is the main part of a page.
type article struct {
	title string
	node  *html.Node
}

// extract finds the main part of a page. It says false where there is none: a
// list of links, a form.
type extract func(page *html.Node, address *url.URL) (article, bool)

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
	return pageContent(page, at, readable)
}

func pageContent(page *html.Node, at *url.URL, find extract) (Content, error) {
	c := Content{Title: pageTitle(page)}
	node := page
	if main, ok := find(page, at); ok {
		node = main.node
		if main.title != "" {
			c.Title = main.title
		}
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

// readable is Mozilla's Readability.
func readable(page *html.Node, at *url.URL) (article, bool) {
	p := readability.NewParser()
	p.MaxElemsToParse = 100_000
	if !p.CheckDocument(page) {
		return article{}, false
	}
	got, err := p.ParseDocument(page, at)
	if err != nil || got.Node == nil || strings.TrimSpace(got.TextContent) == "" {
		return article{}, false
	}
	return article{got.Title, got.Node}, true
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
