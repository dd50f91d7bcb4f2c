// Package wikipedia has the two tools of the ReAct paper: Search finds a page, and
// Lookup the next sentence in it that holds a word.
package wikipedia

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"nod/chat/bounded"
	"nod/llm"
	"nod/tools"
	"nod/tools/web"
)

//go:embed search.md
var searchProse string

//go:embed lookup.md
var lookupProse string

const (
	searchParameters = `{"type":"object","properties":{"entity":{"type":"string","minLength":1,"maxLength":300,"description":"for example Ada Lovelace"}},"required":["entity"],"additionalProperties":false}`
	lookupParameters = `{"type":"object","properties":{"keyword":{"type":"string","minLength":1,"maxLength":300,"description":"for example born"}},"required":["keyword"],"additionalProperties":false}`
)

// Keys are the keys of tools.wikipedia: they say where the encyclopedia is, which can be
// any wiki that runs MediaWiki.
type Keys struct {
	Language string `yaml:"language" schema:"language" default:"en" doc:"Default en"`
	APIURL   string `yaml:"api_url" schema:"own-url" doc:"Default https://LANGUAGE.wikipedia.org/w/api.php"`
}

// encyclopedia is shared by the two tools. It remembers nothing of a thread: the found
// page, and the position of a lookup, follow from the thread's calls. So a lookup
// continues after a restart too.
type encyclopedia struct {
	api   *web.API
	url   *url.URL
	pages bounded.Map[string, wikiPage] // by entity
}

// Answers of a search that found no page.
const (
	wikiNone    = "Could not find "
	wikiSeveral = " may refer to several things. Similar: "
)

const (
	// wikiSentences is how many sentences a search gives, and wikiTitles how
	// many titles, as in the environment of the ReAct paper.
	wikiSentences = 5
	wikiTitles    = 5
)

// Make makes the tools wikipedia_search and wikipedia_lookup, which are
// Search and Lookup of the ReAct paper (Yao et al., 2022). A lookup goes on
// where the last one of its thread stopped.
func (k Keys) Make(_ context.Context, h tools.Host) (tools.Made, error) {
	w, err := open(k)
	if err != nil {
		return tools.Made{}, fmt.Errorf("set up wikipedia: %w", err)
	}
	w.api.Through(h.Proxy)
	search := tools.New("wikipedia_search", searchProse, searchParameters, w.search)
	search.Aliases, search.ReadOnly, search.Outside = []string{"Search"}, true, true
	lookup := tools.New("wikipedia_lookup", lookupProse, lookupParameters, w.lookup)
	lookup.Aliases, lookup.ReadOnly, lookup.Outside, lookup.Advances = []string{"Lookup"}, true, true, true
	return tools.Made{Tools: []tools.Tool{search, lookup}}, nil
}

func open(k Keys) (*encyclopedia, error) {
	u, err := url.Parse(cmp.Or(k.APIURL, "https://"+k.Language+".wikipedia.org/w/api.php"))
	return &encyclopedia{api: web.NewAPI("Wikipedia", 5), url: u, pages: bounded.Map[string, wikiPage]{Most: 100}}, err
}

// search finds a page.
func (w *encyclopedia) search(ctx context.Context, in tools.Input, arg wikiArgs) (llm.Result, error) {
	entity := arg.entity()
	if entity == "" {
		return tools.Failed("%q is no title; write the name of one thing", arg.Entity), nil
	}
	page, err := w.page(ctx, entity)
	if err != nil {
		return wikiFailed(err)
	}
	if page.text == "" {
		return w.similar(ctx, entity, page)
	}
	first := page.sentences[:min(len(page.sentences), wikiSentences)]
	text := strings.Join(first, " ")
	if !strings.EqualFold(page.title, entity) {
		text = "(" + page.title + ") " + text
	}
	return llm.Result{Text: text}, nil
}

// similar names pages with titles or texts like an entity that has none, or that
// has one which only lists others.
func (w *encyclopedia) similar(ctx context.Context, entity string, page wikiPage) (llm.Result, error) {
	titles, err := w.titles(ctx, entity)
	if err != nil {
		return wikiFailed(err)
	}
	var others []string
	for _, t := range titles {
		if t != page.title && len(others) < wikiTitles {
			others = append(others, t)
		}
	}
	switch {
	case len(others) == 0:
		return llm.Result{Text: wikiNone + entity + ", nor anything similar. Try another name for it."}, nil
	case page.title != "":
		return llm.Result{Text: page.title + wikiSeveral + quoted(others) + "."}, nil
	}
	return llm.Result{Text: wikiNone + entity + ". Similar: " + quoted(others) + "."}, nil
}

func quoted(titles []string) string {
	return "[" + strings.Join(titles, "; ") + "]"
}

func wikiFailed(err error) (llm.Result, error) {
	var e *web.Fault
	if errors.As(err, &e) {
		return tools.Failed("%s", e.Words), fmt.Errorf("ask wikipedia: %w", err)
	}
	return tools.Failed("%v", err), nil
}

// request asks the wiki's API (https://www.mediawiki.org/wiki/API:Main_page).
func (w *encyclopedia) request(ctx context.Context, query url.Values, out any) error {
	for key, value := range map[string]string{"format": "json", "formatversion": "2", "utf8": "1"} {
		query.Set(key, value)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, web.WithQuery(*w.url, query), nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	return w.api.Ask(req, out)
}
