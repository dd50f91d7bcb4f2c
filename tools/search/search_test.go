package search

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"nod/internal/tooltest"
	"nod/setting"
	"nod/tools"
	"nod/tools/web"
)

const theKey = "key-hunter2"

// engine answers as the three providers do, at the paths of the real ones.
func engine(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, text string) { _, _ = io.WriteString(w, text) }
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("format") != "json" || r.FormValue("q") != "kettle price" || r.Header.Get("Authorization") != "Bearer "+theKey {
			t.Errorf("request %s %v", r.URL, r.Header)
		}
		answer(w, `{"query":"kettle price","number_of_results":0,"results":[
			{"url":"https://a.example/1","title":"Kettles &amp; more","content":"From <b>10</b>\n EUR","engine":"x","publishedDate":"2026-01-02T00:00:00"},
			{"url":"javascript:alert(1)","title":"bad"},{"url":"ftp://bad.example/","title":"bad"},{"url":"https://b.example/","title":"","content":null},
			{"url":"https://c.example/","title":"C","content":"`+strings.Repeat("long ", 200)+`"}],"answers":[]}`)
	})
	mux.HandleFunc("GET /res/v1/web/search", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("count") != "3" || r.FormValue("q") != "kettle price" || r.Header.Get("X-Subscription-Token") != theKey || r.Header.Get("Authorization") != "" {
			t.Errorf("request %s %v", r.URL, r.Header)
		}
		answer(w, `{"type":"search","web":{"type":"search","results":[{"title":"Kettles & more","url":"https://a.example/1","description":"From <strong>10</strong> EUR","age":"2 days ago"}]}}`)
	})
	mux.HandleFunc("POST /search", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Query string
			Max   int `json:"max_results"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Query != "kettle price" || body.Max != 3 || r.Header.Get("Authorization") != "Bearer "+theKey {
			t.Errorf("request %v %v", body, r.Header)
		}
		answer(w, `{"query":"kettle price","results":[{"title":"Kettles & more","url":"https://a.example/1","content":"From 10 EUR","score":0.9}],"response_time":1}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func TestSearch(t *testing.T) {
	base := engine(t).URL
	tests := []struct {
		provider  Provider
		url, want string
	}{
		{SearXNG, base, "1. Kettles & more\n   https://a.example/1\n   (2026-01-02) From 10 EUR\n2. b.example\n   https://b.example/\n3. C\n   https://c.example/\n   long long"},
		{SearXNG, base + "/search", "1. Kettles & more"},
		{SearXNG, base + "/", "1. Kettles & more"},
		{Brave, base, "1. Kettles & more\n   https://a.example/1\n   (2 days ago) From 10 EUR"},
		{Brave, base + "/res/v1/web/search", "1. Kettles & more"},
		{Tavily, base, "1. Kettles & more\n   https://a.example/1\n   From 10 EUR"},
		{Tavily, base + "/search", "1. Kettles & more"},
	}
	for _, tt := range tests {
		t.Run(string(tt.provider)+" "+strings.TrimPrefix(tt.url, base), func(t *testing.T) {
			got := tooltest.Run(t, tooltest.Make(t, Keys{Provider: tt.provider, APIURL: tt.url, APIKey: setting.NewSecret(theKey)})[0], map[string]any{"query": " kettle  price", "count": 3})
			if got.Failed || !strings.HasPrefix(got.Text, tt.want) || len(got.Text) > 1000 {
				t.Errorf("failed %v:\n%s\nwant\n%s", got.Failed, got.Text, tt.want)
			}
		})
	}
}

func TestTrouble(t *testing.T) {
	body := func(code int, text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	thief := tooltest.Handle(t, func(http.ResponseWriter, *http.Request) {
		t.Error("the question, and perhaps the key, went to another host")
	})
	elsewhere := tooltest.Handle(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief+"/search", http.StatusTemporaryRedirect)
	})
	tests := []struct {
		name                string
		provider            Provider
		url, want, operator string
	}{
		{"bad key, Brave", Brave, body(401, `{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}`), "does not let this program in", "ask Brave Search: the server answers 401"},
		{"bad key, Tavily", Tavily, body(401, `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`), "does not let this program in", "ask Tavily: the server answers 401"},
		{"no JSON allowed, SearXNG", SearXNG, body(403, "Forbidden"), "does not let this program in", "add json to search.formats"},
		{"quota", Brave, body(429, ""), "asked too often", "429"},
		{"broken", Tavily, body(502, "<html>"), "trouble of its own", "502"},
		{"down", SearXNG, "http://" + tooltest.Listen(t, ""), "cannot be reached", "refused"},
		{"garbage on the wire", Brave, "http://" + tooltest.Listen(t, "220 smtp ready\r\n"), "cannot be reached", "malformed HTTP"},
		{"an answer that ends early", Brave, "http://" + tooltest.Listen(t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"), "cannot be reached", "unexpected EOF"},
		{"redirect to another host", Tavily, elsewhere, "answers 307", "307"},
		{"huge", SearXNG, body(200, `{"results":"`+strings.Repeat("x", web.AnswerMost)+`"}`), "too long", "too long"},
		{"no page of the provider's", Brave, body(404, ""), "answers 404 Not Found", "404"},
		{"page, SearXNG", SearXNG, body(200, "<html>"), "makes no sense", "check api_url"},
		{"other JSON, SearXNG", SearXNG, body(200, `{}`), "makes no sense", "check api_url"},
		{"other JSON, Brave", Brave, body(200, `{"a":1}`), "makes no sense", "check api_url"},
		{"other JSON, Tavily", Tavily, body(200, `[]`), "makes no sense", "check api_url"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tooltest.Call(t, tooltest.Make(t, Keys{Provider: tt.provider, APIURL: tt.url, APIKey: setting.NewSecret(theKey)})[0], map[string]any{"query": "opensesame"})
			if !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
			if err == nil || !strings.Contains(err.Error(), tt.operator) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "opensesame") {
				t.Errorf("error %v, want %q", err, tt.operator)
			}
		})
	}
	for name, text := range map[Provider]string{Brave: `{"type":"search","query":{}}`, SearXNG: `{"results":[]}`, Tavily: `{"results":[]}`} {
		got := tooltest.Run(t, tooltest.Make(t, Keys{Provider: name, APIURL: body(200, text), APIKey: setting.NewSecret(theKey)})[0], map[string]any{"query": "x"})
		if got.Failed || !strings.Contains(got.Text, `Nothing was found for "x"`) {
			t.Errorf("%s: %s", name, got.Text)
		}
	}
	if got := tooltest.Run(t, tooltest.Make(t, Keys{Provider: SearXNG, APIURL: "http://127.0.0.1:1"})[0], map[string]any{"query": " "}); !got.Failed {
		t.Error("an empty query was sent")
	}
}

func TestHostileServers(t *testing.T) {
	tooltest.HostileServers(t, func(url string, limit time.Duration) tools.Tool {
		s, err := newSearcher(Keys{Provider: SearXNG, APIURL: url})
		if err != nil {
			t.Fatal(err)
		}
		s.api.Client.Timeout = limit
		return tools.New("search", prose, parameters, s.run)
	}, nil)
}
