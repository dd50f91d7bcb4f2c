// Package search is the tool that searches the web, through SearXNG, Brave or
// Tavily.
package search

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"nod/llm"
	"nod/setting"
	"nod/tools"
	"nod/tools/web"
)

//go:embed search.md
var prose string

const parameters = `{"type":"object","properties":{
"query":{"type":"string","minLength":1,"maxLength":400,"description":"for example go 1.26 release date"},
"count":{"type":"integer","minimum":1,"maximum":10}},
"required":["query"],"additionalProperties":false}`

// The providers of web search.
const (
	SearXNG Provider = "searxng"
	Brave   Provider = "brave"
	Tavily  Provider = "tavily"
)

// Keys are the keys of tools.search. APIURL is the address of the provider's API,
// with or without a path; only SearXNG, which everybody runs for themselves,
// needs one. APIKey goes into the header that the provider wants it in.
type Keys struct {
	Provider Provider       `yaml:"provider" default:"searxng" doc:"Default searxng"`
	APIURL   string         `yaml:"api_url" schema:"own-url" missing:"the address of your searxng, or another provider" when:"provider=searxng" doc:"Needed for searxng; the others have their own"`
	APIKey   setting.Secret `yaml:"api_key" schema:"token" missing:"the key that the provider gave you" when:"provider!=searxng" doc:"Needed for brave and tavily"`
}

// Provider names a service that searches the web.
type Provider string

// Allowed lists those that the file may name.
func (Provider) Allowed() []string { return []string{string(SearXNG), string(Brave), string(Tavily)} }

// provider is one service's way of being asked. params ask for up to count results; one
// without them is asked in JSON.
type provider struct {
	name    string // for people
	home    string // where its API is; "" has to be configured
	path    string // of the search within an API
	perSec  float64
	params  func(query string, count int) url.Values
	header  string // of the key; empty: it is a bearer's
	refused string // the meaning of 403, if it is not the key
}

// hit is one result.
type hit struct {
	title, url, excerpt, date string
}

var providers = map[Provider]provider{
	// https://docs.searxng.org/dev/search_api.html
	SearXNG: {
		name: "SearXNG", path: "/search", perSec: 5,
		params:  func(query string, _ int) url.Values { return url.Values{"q": {query}, "format": {"json"}} },
		refused: "; it may not answer in JSON: add json to search.formats in its settings.yml",
	},
	// https://api-dashboard.search.brave.com/app/documentation/web-search
	Brave: {
		name: "Brave Search", home: "https://api.search.brave.com", path: "/res/v1/web/search", perSec: 1,
		header: "X-Subscription-Token",
		params: func(query string, count int) url.Values {
			return url.Values{"q": {query}, "count": {strconv.Itoa(count)}, "result_filter": {"web"}}
		},
	},
	// https://docs.tavily.com/documentation/api-reference/endpoint/search
	Tavily: {
		name: "Tavily", home: "https://api.tavily.com", path: "/search", perSec: 5,
	},
}

// searcher is Keys that are ready to run.
type searcher struct {
	Keys
	provider
	url url.URL
	api *web.API
}

// Make makes the tool that searches the web. It refuses an address that is none.
func (k Keys) Make(_ context.Context, h tools.Host) (tools.Made, error) {
	s, err := newSearcher(k)
	if err != nil {
		return tools.Made{}, fmt.Errorf("set up search: %w", err)
	}
	s.api.Through(h.Proxy)
	t := tools.New("search", prose, parameters, s.run)
	t.ReadOnly, t.Outside, t.Lists, t.Try = true, true, true, s.try
	return tools.One(t)
}

func newSearcher(k Keys) (*searcher, error) {
	p := providers[k.Provider]
	u, err := url.Parse(cmp.Or(k.APIURL, p.home))
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if u.Path == "" || k.Provider == SearXNG && !strings.HasSuffix(u.Path, p.path) {
		u.Path += p.path // a SearXNG may live below a path
	}
	return &searcher{Keys: k, provider: p, url: *u, api: web.NewAPI("The search engine", p.perSec)}, nil
}

// arguments are the model's arguments.
type arguments struct {
	Query string
	Count int
}

// try searches for a word: only an answer tells whether the engine takes the key.
func (s *searcher) try(ctx context.Context) error {
	r, err := s.run(ctx, tools.Input{}, arguments{Query: "nod"})
	if err == nil && r.Failed {
		err = errors.New(r.Text)
	}
	return err
}

func (s *searcher) run(ctx context.Context, _ tools.Input, arg arguments) (llm.Result, error) {
	count := cmp.Or(arg.Count, 5)
	query := strings.Join(strings.Fields(arg.Query), " ")
	if query == "" {
		return tools.Failed("the query is empty; write a few words"), nil
	}
	req, err := s.request(ctx, query, count)
	if err != nil {
		return llm.Result{}, fmt.Errorf("make request: %w", err)
	}
	var answer json.RawMessage
	if err := s.api.Ask(req, &answer); err != nil {
		return s.failed(err)
	}
	hits, err := results(answer)
	if err != nil {
		return tools.Failed("The search engine gave an answer that makes no sense; an operator has to look at its address in the configuration"),
			fmt.Errorf("read the answer of %s: it is not what was expected; check api_url", s.name)
	}
	return llm.Result{Text: writeHits(query, hits[:min(len(hits), count)])}, nil
}

// failed adds the provider's reason to an error, for the operator.
func (s *searcher) failed(err error) (llm.Result, error) {
	var e *web.Fault
	if !errors.As(err, &e) {
		return llm.Result{}, err
	}
	hint := ""
	if e.Status == http.StatusForbidden {
		hint = s.refused
	}
	return tools.Failed("%s", e.Words), fmt.Errorf("ask %s%s: %w", s.name, hint, err)
}

// writeHits writes results as the model reads them.
func writeHits(query string, hits []hit) string {
	if len(hits) == 0 {
		return fmt.Sprintf("Nothing was found for %q. Try fewer or other words.", query)
	}
	var b strings.Builder
	for i, h := range hits {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, h.title, h.url)
		switch {
		case h.date != "" && h.excerpt != "":
			fmt.Fprintf(&b, "   (%s) %s\n", h.date, h.excerpt)
		case h.excerpt != "":
			fmt.Fprintf(&b, "   %s\n", h.excerpt)
		}
	}
	return strings.TrimSpace(b.String())
}

// result is a provider's result; providers differ in the names.
type result struct {
	Title, URL           string
	Content, Description string
	PublishedDate, Age   string
	Published            string `json:"published_date"`
}

// hit is the result as it is shown; ok is false where it leads nowhere.
func (r result) hit() (h hit, ok bool) {
	u, err := url.Parse(strings.TrimSpace(r.URL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return hit{}, false
	}
	return hit{
		title: cmp.Or(plain(r.Title, 200), u.Host), url: tools.OneLine(u.String(), 500), excerpt: plain(cmp.Or(r.Content, r.Description), 400),
		date: plain(cmp.Or(strings.TrimSuffix(r.PublishedDate, "T00:00:00"), r.Published, r.Age), 40),
	}, true
}

// results reads an answer, in which Brave has them one deeper and leaves that out where
// nothing was found.
func results(answer []byte) (out []hit, err error) {
	var got struct {
		Type    string
		Results *[]result
		Web     *struct{ Results *[]result }
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return nil, err
	}
	switch {
	case got.Web != nil:
		got.Results = got.Web.Results
	case got.Type == "search":
		got.Results = nil
	case got.Results == nil:
		return nil, errors.New("no results in it")
	}
	if got.Results == nil {
		return nil, nil
	}
	for _, r := range *got.Results {
		if h, ok := r.hit(); ok {
			out = append(out, h)
		}
	}
	return out, nil
}

var tag = regexp.MustCompile(`</?[a-zA-Z][^<>]*>`)

// plain takes the markup out of a line.
func plain(text string, most int) string {
	return tools.OneLine(html.UnescapeString(tag.ReplaceAllString(text, "")), most)
}

// request asks for up to count results.
func (s *searcher) request(ctx context.Context, query string, count int) (req *http.Request, err error) {
	if s.params != nil {
		req, err = http.NewRequestWithContext(ctx, http.MethodGet, web.WithQuery(s.url, s.params(query, count)), nil)
	} else {
		body, _ := json.Marshal(map[string]any{"query": query, "max_results": count}) // it always encodes
		req, err = http.NewRequestWithContext(ctx, http.MethodPost, s.url.String(), bytes.NewReader(body))
	}
	if err != nil {
		return nil, err
	}
	if s.params == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	switch {
	case !s.APIKey.IsSet():
	case s.header != "":
		req.Header.Set(s.header, s.APIKey.Reveal())
	default:
		req.Header.Set("Authorization", "Bearer "+s.APIKey.Reveal())
	}
	return req, nil
}
