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
	SearXNG = "searxng"
	Brave   = "brave"
	Tavily  = "tavily"
)

// Options says who searches the web. APIURL is the address of the provider's API,
// with or without a path; only SearXNG, which everybody runs for themselves,
// needs one. APIKey goes into the header that the provider wants it in.
type Options struct {
	Provider string // SearXNG where it is empty
	APIURL   string
	APIKey   string
}

// provider is one service's way of being asked. request is for up to count
// results.
type provider struct {
	name     string // for people
	home     string // where its API is; "" has to be configured
	path     string // of the search within an API
	perSec   float64
	needsKey bool
	request  func(ctx context.Context, s Options, query string, count int) (*http.Request, error)
	refused  string // what 403 means, where it is not the key
}

// hit is one result.
type hit struct {
	title, url, excerpt, date string
}

var providers = map[string]provider{
	// https://docs.searxng.org/dev/search_api.html
	SearXNG: {
		name: "SearXNG", path: "/search", perSec: 5, request: searxngRequest,
		refused: "; it may not answer in JSON: add json to search.formats in its settings.yml",
	},
	// https://api-dashboard.search.brave.com/app/documentation/web-search
	Brave: {
		name: "Brave Search", home: "https://api.search.brave.com", path: "/res/v1/web/search", perSec: 1, needsKey: true,
		request: braveRequest,
	},
	// https://docs.tavily.com/documentation/api-reference/endpoint/search
	Tavily: {
		name: "Tavily", home: "https://api.tavily.com", path: "/search", perSec: 5, needsKey: true,
		request: tavilyRequest,
	},
}

// searcher is Options that are ready to run.
type searcher struct {
	Options
	provider
	api *web.API
}

// New makes the tool that searches the web. It refuses an unknown
// provider, and one that lacks the address or the key that it needs.
func New(o Options) (tools.Tool, error) {
	s, err := newSearcher(o)
	if err != nil {
		return tools.Tool{}, fmt.Errorf("set up search: %w", err)
	}
	return tools.Tool{
		Tool:     llm.Tool{Name: "search", Description: strings.TrimSpace(prose), Parameters: json.RawMessage(parameters)},
		ReadOnly: true,
		Outside:  true,
		Lists:    true,
		Risk:     tools.Auto,
		Run:      s.run,
	}, nil
}

func newSearcher(o Options) (*searcher, error) {
	o.Provider = cmp.Or(o.Provider, SearXNG)
	p, ok := providers[o.Provider]
	if !ok {
		return nil, fmt.Errorf("the provider is searxng, brave or tavily, not %q", o.Provider)
	}
	o.APIURL = cmp.Or(o.APIURL, p.home)
	if o.APIURL == "" {
		return nil, fmt.Errorf("%s needs api_url, its address", o.Provider)
	}
	if p.needsKey && o.APIKey == "" {
		return nil, fmt.Errorf("%s needs api_key", o.Provider)
	}
	u, err := url.Parse(o.APIURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("api_url is no web address")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	if u.Path == "" || o.Provider == SearXNG && !strings.HasSuffix(u.Path, p.path) {
		u.Path += p.path // a SearXNG may live below a path
	}
	o.APIURL = u.String()
	return &searcher{Options: o, provider: p, api: web.NewAPI("The search engine", p.perSec)}, nil
}

func (s *searcher) run(ctx context.Context, in tools.Input) (llm.Result, error) {
	arg := struct {
		Query string
		Count int
	}{Count: 5}
	if err := json.Unmarshal(in.Args, &arg); err != nil {
		return llm.Result{}, fmt.Errorf("read arguments: %w", err)
	}
	query := strings.Join(strings.Fields(arg.Query), " ")
	if query == "" {
		return tools.Failed("the query is empty; write a few words"), nil
	}
	req, err := s.request(ctx, s.Options, query, arg.Count)
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
	return llm.Result{Text: writeHits(query, hits[:min(len(hits), arg.Count)])}, nil
}

// failed adds to an error what only the operator of the provider knows.
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

// result is a result as providers write it, each with other names for what it says.
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

func searxngRequest(ctx context.Context, s Options, query string, _ int) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, withQuery(s.APIURL, url.Values{"q": {query}, "format": {"json"}}), nil)
	if err == nil && s.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	return req, err
}

func braveRequest(ctx context.Context, s Options, query string, count int) (*http.Request, error) {
	address := withQuery(s.APIURL, url.Values{"q": {query}, "count": {strconv.Itoa(count)}, "result_filter": {"web"}})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err == nil {
		req.Header.Set("X-Subscription-Token", s.APIKey)
	}
	return req, err
}

func tavilyRequest(ctx context.Context, s Options, query string, count int) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": count})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.APIURL, bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	return req, err
}

// withQuery adds parameters to an address that may have some.
func withQuery(address string, more url.Values) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // it was parsed before
	}
	query := u.Query()
	for key := range more {
		query.Set(key, more.Get(key))
	}
	u.RawQuery = query.Encode()
	return u.String()
}
