package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"nod/chat"
	"nod/llm"
)

//go:embed wikipedia_search.md
var wikipediaSearchText string

//go:embed wikipedia_lookup.md
var wikipediaLookupText string

const (
	wikipediaSearchParameters = `{"type":"object","properties":{"entity":{"type":"string","minLength":1,"maxLength":300,"description":"for example Ada Lovelace"}},"required":["entity"],"additionalProperties":false}`
	wikipediaLookupParameters = `{"type":"object","properties":{"keyword":{"type":"string","minLength":1,"maxLength":300,"description":"for example born"}},"required":["keyword"],"additionalProperties":false}`
)

// Wikipedia says where the encyclopedia is: any wiki that runs MediaWiki.
type Wikipedia struct {
	Language string // en where it is empty
	APIURL   string // Wikipedia's in that language where it is empty
}

// wikipedia is what the two tools share. What a thread found last is kept in
// memory only; a program that starts again has to be asked for the page again.
type wikipedia struct {
	api   *webAPI
	url   *url.URL
	pages *lru[string, wikiPage] // by entity, in lower case

	mu      sync.Mutex // a lookup reads its place and moves it on
	reading *lru[chat.ThreadID, wikiPlace]
}

// wikiPlace is where a thread is in a page.
type wikiPlace struct {
	page    wikiPage
	keyword string
	next    int // the match that comes next
}

const (
	// wikiSentences is how many sentences a search gives, and wikiTitles how
	// many titles, as in the environment of the ReAct paper.
	wikiSentences = 5
	wikiTitles    = 5
)

// NewWikipedia makes the tools wikipedia_search and wikipedia_lookup, which are
// Search and Lookup of the ReAct paper (Yao et al., 2022). A lookup goes on
// where the last one of its thread stopped.
func NewWikipedia(o Wikipedia) ([]Tool, error) {
	w, err := newWikipedia(o, time.Now)
	if err != nil {
		return nil, fmt.Errorf("set up wikipedia: %w", err)
	}
	return []Tool{
		{
			Tool:     llm.Tool{Name: "wikipedia_search", Description: strings.TrimSpace(wikipediaSearchText), Parameters: json.RawMessage(wikipediaSearchParameters)},
			ReadOnly: true, Risk: Auto, Run: w.search,
		},
		{
			Tool:     llm.Tool{Name: "wikipedia_lookup", Description: strings.TrimSpace(wikipediaLookupText), Parameters: json.RawMessage(wikipediaLookupParameters)},
			ReadOnly: true, Advances: true, Risk: Auto, Run: w.lookup,
		},
	}, nil
}

func newWikipedia(o Wikipedia, now func() time.Time) (*wikipedia, error) {
	if o.Language == "" {
		o.Language = "en"
	}
	if o.APIURL == "" {
		o.APIURL = "https://" + o.Language + ".wikipedia.org/w/api.php"
	}
	u, err := url.Parse(o.APIURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("api_url is no web address")
	}
	return &wikipedia{
		api: newWebAPI("Wikipedia", 5), url: u,
		pages:   newLRU[string, wikiPage](100, time.Hour, now),
		reading: newLRU[chat.ThreadID, wikiPlace](1000, 0, now),
	}, nil
}

// search finds a page, and remembers it for the thread.
func (w *wikipedia) search(ctx context.Context, in Input) (llm.Result, error) {
	var arg struct{ Entity string }
	if err := json.Unmarshal(in.Args, &arg); err != nil {
		return llm.Result{}, fmt.Errorf("read arguments: %w", err)
	}
	entity := strings.Join(strings.Fields(arg.Entity), " ")
	if entity == "" || strings.ContainsAny(entity, "|\x1f") {
		return failed("%q is no title; write the name of one thing", arg.Entity), nil
	}
	page, err := w.page(ctx, entity)
	if err != nil {
		return wikiFailed(err)
	}
	if page.text == "" {
		return w.similar(ctx, entity, page)
	}
	w.mu.Lock()
	w.reading.put(in.Thread, wikiPlace{page: page})
	w.mu.Unlock()
	first := page.sentences[:min(len(page.sentences), wikiSentences)]
	text := strings.Join(first, " ")
	if !strings.EqualFold(page.title, entity) {
		text = "(" + page.title + ") " + text
	}
	return llm.Result{Text: text}, nil
}

// similar names pages with titles or texts like an entity that has none, or that
// has one which only lists others.
func (w *wikipedia) similar(ctx context.Context, entity string, page wikiPage) (llm.Result, error) {
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
		return llm.Result{Text: fmt.Sprintf("Could not find %s, nor anything similar. Try another name for it.", entity)}, nil
	case page.title != "":
		return llm.Result{Text: fmt.Sprintf("%s may refer to several things. Similar: %s.", page.title, quoted(others))}, nil
	}
	return llm.Result{Text: fmt.Sprintf("Could not find %s. Similar: %s.", entity, quoted(others))}, nil
}

func quoted(titles []string) string {
	return "[" + strings.Join(titles, "; ") + "]"
}

// lookup gives the next sentence with a keyword in the thread's page.
func (w *wikipedia) lookup(_ context.Context, in Input) (llm.Result, error) {
	var arg struct{ Keyword string }
	if err := json.Unmarshal(in.Args, &arg); err != nil {
		return llm.Result{}, fmt.Errorf("read arguments: %w", err)
	}
	keyword := strings.ToLower(strings.Join(strings.Fields(arg.Keyword), " "))
	if keyword == "" {
		return failed("the keyword is empty; write a word that stands in the page"), nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	place, ok := w.reading.get(in.Thread)
	if !ok {
		return failed("there is no page to look in: none was found in this conversation yet, or this program was started again since. Call wikipedia_search first"), nil
	}
	if place.keyword != keyword {
		place.keyword, place.next = keyword, 0
	}
	var found []string
	for _, s := range place.page.sentences {
		if strings.Contains(strings.ToLower(s), keyword) {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		return llm.Result{Text: fmt.Sprintf("The page %s has no sentence with %q. Try another word, or search another page.", place.page.title, arg.Keyword)}, nil
	}
	if place.next >= len(found) {
		return llm.Result{Text: fmt.Sprintf("No more results: all %d sentences with %q in the page %s were shown.", len(found), arg.Keyword, place.page.title)}, nil
	}
	text := fmt.Sprintf("(Result %d/%d) %s", place.next+1, len(found), found[place.next])
	place.next++
	w.reading.put(in.Thread, place)
	return llm.Result{Text: text}, nil
}

func wikiFailed(err error) (llm.Result, error) {
	var e *apiError
	if errors.As(err, &e) {
		return failed("%s", e.words), fmt.Errorf("ask wikipedia: %w", err)
	}
	return failed("%v", err), nil
}

// request asks the wiki's API (https://www.mediawiki.org/wiki/API:Main_page).
func (w *wikipedia) request(ctx context.Context, query url.Values, out any) error {
	for key, value := range map[string]string{"format": "json", "formatversion": "2", "utf8": "1"} {
		query.Set(key, value)
	}
	u := *w.url
	own := u.Query()
	for key := range query {
		own.Set(key, query.Get(key))
	}
	u.RawQuery = own.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	return w.api.ask(req, out)
}
