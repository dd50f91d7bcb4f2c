package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// web is a site with a page, a MediaWiki and a SearXNG, as far as the tools need
// them.
func web(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprint(w, "<html><title>Tower</title><body><article><h1>The tower</h1><p>"+strings.Repeat("The tower is 330 metres high. ", 20)+"</p></article></body></html>")
	})
	mux.HandleFunc("/search", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"query":"tower","results":[{"title":"A tower","url":"https://tower.example/","content":"It is high."}]}`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// The tools of the file reach the model through the whole program, and what goes
// wrong with them comes as words.
func TestToolsThroughTheProgram(t *testing.T) {
	t.Parallel()
	site := web(t)
	w := newSlackWorld(t, fakeslack.Options{})
	rule := func(req fakellm.Request) fakellm.Reply {
		if req.Last().Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + req.Last().Text()}
		}
		_, text, _ := strings.Cut(req.Last().Text(), ": ")
		name, arguments, _ := strings.Cut(text, " ")
		return fakellm.Reply{Calls: []fakellm.Call{{Name: name, Args: arguments}}}
	}
	n := newService(t, w, rule, setup{tools: deployTool + fmt.Sprintf(`
  fetch: {allow: ["*", "127.0.0.1"]}
  search: {provider: searxng, api_url: %q}
`, site)})
	n.start()
	for ask, want := range map[string]string{
		fmt.Sprintf(`fetch {"url":"%s/page"}`, site):             "The tower is 330 metres high",
		fmt.Sprintf(`fetch {"url":"%s/nothing"}`, site):          "404",
		`fetch {"url":"http://169.254.169.254/latest"}`:          "The tool says",
		`search {"query":"tower"}`:                               "tower.example",
		`fetch {"address":"x"}`:                                  "did not run",
		`nothing {}`:                                             "There is no tool",
		`fetch {"url":"http://localhost:1/"}`:                    "The tool says",
		`look {}`:                                                "it is 42",
		`clock {"zone":"Asia/Tokyo"}`:                            "Tokyo",
		`deploy {"env":1}`:                                       "did not run",
		fmt.Sprintf(`fetch {"url":"%s/page","offset":-1}`, site): "The tool says",
	} {
		at := w.dm("ada", ask)
		n.find(at, "The tool says", want)
	}
	if ran := n.ran(); len(ran) != 0 {
		t.Errorf("ran %q", ran)
	}
}
