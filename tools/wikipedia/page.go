package wikipedia

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"nod/tools"
	"nod/tools/web"
)

// wikiPage is a page as plain text. A page that only lists others of that name
// has a title and no text; one that does not exist has neither.
type wikiPage struct {
	title     string
	text      string
	sentences []string
	read      time.Time
}

// wikiFault is the API's refusal.
type wikiFault struct {
	Code, Info string
}

func (f *wikiFault) err() error {
	switch {
	case f == nil:
		return nil
	case f.Code == "ratelimited" || f.Code == "maxlag":
		return &web.Fault{Words: "Wikipedia says that it was asked too often; wait, or do without it", Cause: errors.New("the API answers " + f.Code)}
	}
	return &web.Fault{Words: "Wikipedia refuses this question (" + tools.OneLine(f.Code, 60) + ")", Cause: errors.New("the API answers " + tools.OneLine(f.Code, 60))}
}

// page gets a page by its title, following redirects.
func (w *encyclopedia) page(ctx context.Context, entity string) (wikiPage, error) {
	if p, ok := w.pages.Get(entity); ok && time.Since(p.read) < time.Hour {
		return p, nil
	}
	var got struct {
		Error *wikiFault
		Query struct {
			Pages []struct {
				Title     string
				Missing   bool
				Invalid   bool
				Extract   *string
				PageProps map[string]any
			}
		}
	}
	err := w.request(ctx, url.Values{
		"action": {"query"}, "prop": {"extracts|pageprops"}, "explaintext": {"1"}, "exsectionformat": {"wiki"},
		"ppprop": {"disambiguation"}, "redirects": {"1"}, "titles": {entity},
	}, &got)
	if err := errors.Join(err, got.Error.err()); err != nil {
		return wikiPage{}, err
	}
	if len(got.Query.Pages) == 0 || got.Query.Pages[0].Missing || got.Query.Pages[0].Invalid {
		return wikiPage{}, nil // not remembered: somebody may write it
	}
	p := got.Query.Pages[0]
	page := wikiPage{title: p.Title, read: time.Now()}
	if _, several := p.PageProps["disambiguation"]; !several {
		if p.Extract != nil {
			page.text = *p.Extract
		}
		if strings.TrimSpace(page.text) == "" {
			if page.text, err = w.parsed(ctx, p.Title); err != nil {
				return wikiPage{}, err
			}
		}
		page.sentences = sentences(page.text)
		if len(page.sentences) == 0 {
			page.text = ""
		}
	}
	w.pages.Put(entity, page)
	return page, nil
}

// parsed gets the text out of a page's HTML, for wikis that lack the extension
// that does it (TextExtracts).
func (w *encyclopedia) parsed(ctx context.Context, title string) (string, error) {
	var got struct {
		Error *wikiFault
		Parse struct{ Text string }
	}
	err := w.request(ctx, url.Values{"action": {"parse"}, "prop": {"text"}, "redirects": {"1"}, "page": {title}}, &got)
	if err := errors.Join(err, got.Error.err()); err != nil {
		return "", err
	}
	root, err := html.Parse(strings.NewReader(got.Parse.Text))
	if err != nil {
		return "", &web.Fault{Words: "Wikipedia gave a page that cannot be read", Cause: errors.New("a page is nested too deep")}
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.DataAtom == atom.P || n.DataAtom == atom.Li {
			writeProse(&b, n)
			b.WriteByte('\n')
		}
	}
	return b.String(), nil
}

// writeProse writes the text of a paragraph without footnote marks and styles.
func writeProse(b *strings.Builder, n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		b.WriteString(strings.ReplaceAll(n.Data, "\n", " "))
		return
	case n.DataAtom == atom.Sup || n.DataAtom == atom.Style || n.DataAtom == atom.Script || n.DataAtom == atom.Ul || n.DataAtom == atom.Ol:
		return
	}
	for c := range n.ChildNodes() {
		writeProse(b, c)
	}
}

// titles searches for pages.
func (w *encyclopedia) titles(ctx context.Context, text string) ([]string, error) {
	var got struct {
		Error *wikiFault
		Query struct {
			Search []struct{ Title string }
		}
	}
	err := w.request(ctx, url.Values{"action": {"query"}, "list": {"search"}, "srsearch": {text}, "srlimit": {"8"}, "srprop": {""}}, &got)
	if err := errors.Join(err, got.Error.err()); err != nil {
		return nil, err
	}
	var out []string
	for _, s := range got.Query.Search {
		out = append(out, tools.OneLine(s.Title, 200))
	}
	return out, nil
}

// sentences takes a text apart. No rule does that without mistakes; this one
// would rather leave two together than cut one in the middle.
func sentences(text string) []string {
	var out []string
	add := func(s string) {
		if s = strings.Join(strings.Fields(s), " "); s != "" {
			out = append(out, s)
		}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "==") {
			continue // a heading, as some wikis leave it
		}
		start := 0
		for i, r := range line {
			end := i + utf8.RuneLen(r)
			if ends(line, start, i, r) {
				add(line[start:end])
				start = end
			}
		}
		add(line[start:])
	}
	return out
}

// ends says whether the rune at i ends the sentence that began at start.
func ends(line string, start, i int, r rune) bool {
	switch r {
	case '。', '！', '？':
		return true
	case '.', '!', '?':
	default:
		return false
	}
	rest := line[i+1:]
	if rest == "" || rest[0] != ' ' {
		return false
	}
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, ` "'(“‘«`))
	if unicode.IsLower(next) {
		return false
	}
	return r != '.' || !abbreviated(line[start:i])
}

// abbreviations are words whose full stop ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "mt": true, "sr": true, "jr": true, "gen": true,
	"col": true, "lt": true, "capt": true, "sgt": true, "rev": true, "hon": true, "no": true, "vol": true, "ca": true, "cf": true,
	"vs": true, "approx": true, "inc": true, "ltd": true, "co": true, "e.g": true, "i.e": true, "u.s": true, "u.k": true,
}

// abbreviated says whether a text ends in an abbreviation or an initial.
func abbreviated(text string) bool {
	word := strings.TrimLeft(text[strings.LastIndexByte(text, ' ')+1:], `("'[“‘`)
	if r, n := utf8.DecodeRuneInString(word); n == len(word) && unicode.IsUpper(r) {
		return true
	}
	return abbreviations[strings.ToLower(word)]
}
