package wikipedia

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/internal/tooltest"
	"nod/llm"
	"nod/tools"
	"nod/tools/web"
)

// wiki is a small MediaWiki. Its answers have the shape of the real one's.
type wiki struct {
	t        *testing.T
	requests int
	plain    bool // it lacks TextExtracts
}

const lovelace = `Augusta Ada King, Countess of Lovelace (née Byron; 10 December 1815 – 27 November 1852), was an English mathematician. She worked with Mr. Babbage on the Analytical Engine. J. R. R. Tolkien was not born yet. Her notes were published in the U.S. and in England! "Did she program?" some ask. She did.


== Early life ==
Ada was born in London. Her father was Lord Byron.
`

func (w *wiki) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.requests++
	q := r.URL.Query()
	if q.Get("format") != "json" || q.Get("formatversion") != "2" || !strings.HasPrefix(r.UserAgent(), "nod/") {
		w.t.Errorf("request %v by %q", q, r.UserAgent())
	}
	var answer any
	page := func(p map[string]any) { answer = map[string]any{"query": map[string]any{"pages": []any{p}}} }
	switch {
	case q.Get("action") == "parse":
		answer = map[string]any{"parse": map[string]any{"title": q.Get("page"), "text": `<div><style>.x{}</style><p><b>Kettles</b> boil
water.<sup>[1]</sup> They are old.</p><ul><li>A list.</li></ul></div>`}}
	case q.Get("list") == "search" && q.Get("srsearch") == "Qqq":
		answer = map[string]any{"query": map[string]any{"search": []any{}}}
	case q.Get("list") == "search":
		var found []any
		for _, t := range []string{"Mercury", "Mercury (planet)", "Mercury (element)", "Mercury (mythology)", "Freddie Mercury", "Mercury Records", "Mercury-Redstone 3"} {
			found = append(found, map[string]any{"ns": 0, "title": t})
		}
		answer = map[string]any{"batchcomplete": true, "query": map[string]any{"search": found}}
	case q.Get("titles") == "Ada Lovelace" || q.Get("titles") == "ada  lovelace" || q.Get("titles") == "Countess of Lovelace":
		page(map[string]any{"pageid": 1, "title": "Ada Lovelace", "extract": lovelace})
	case q.Get("titles") == "Mercury":
		page(map[string]any{"pageid": 2, "title": "Mercury", "extract": "Mercury may refer to:", "pageprops": map[string]any{"disambiguation": ""}})
	case q.Get("titles") == "Kettle" && w.plain:
		page(map[string]any{"pageid": 3, "title": "Kettle"})
	case q.Get("titles") == "US":
		page(map[string]any{"pageid": 4, "title": "United States", "extract": "The United States is a country."})
	case q.Get("titles") == "Us":
		page(map[string]any{"pageid": 5, "title": "Us", "extract": "Us is a film."})
	case q.Get("titles") == "Limit":
		answer = map[string]any{"error": map[string]any{"code": "ratelimited", "info": "You've exceeded your rate limit."}}
	default:
		page(map[string]any{"title": q.Get("titles"), "missing": true})
	}
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		w.t.Error(err)
	}
}

// wikiOf gives a call of the tools of a wiki at an address.
func wikiOf(t *testing.T, address string) func(thread, tool, arg string) (llm.Result, error) {
	return wikiAfter(t, address, map[string][]chat.ToolCall{})
}

// wikiAfter is the same for a program that starts when threads have a past. It
// adds to that.
func wikiAfter(t *testing.T, address string, past map[string][]chat.ToolCall) func(thread, tool, arg string) (llm.Result, error) {
	t.Helper()
	box := tooltest.Box(t, tooltest.Make(t, Keys{APIURL: address})...)
	return func(thread, tool, arg string) (llm.Result, error) {
		name := map[string]string{"search": "entity", "lookup": "keyword"}[tool]
		desk := chat.Desk{Thread: chat.ThreadID{Platform: "terminal", Channel: thread}, Key: "k", Past: past[thread]}
		c := chat.ToolCall{Tool: "wikipedia_" + tool, Args: fmt.Sprintf(`{%q:%q}`, name, arg), State: chat.CallDone}
		got, err := box.Call(t.Context(), desk, llm.Call{Name: c.Tool, Args: c.Args})
		if got.Failed {
			c.State = chat.CallFailed
		}
		c.Observation = got.Text
		past[thread] = append(past[thread], c)
		return got, err
	}
}

func TestWikipedia(t *testing.T) {
	w := &wiki{t: t, plain: true}
	server := httptest.NewServer(w)
	defer server.Close()
	call := wikiOf(t, server.URL+"/w/api.php")
	steps := []struct {
		thread, tool, arg string
		want              string
		failed            bool
	}{
		{"a", "lookup", "born", "none was found in this conversation yet", true},
		{"a", "search", "Ada Lovelace", `Augusta Ada King, Countess of Lovelace (née Byron; 10 December 1815 – 27 November 1852), was an English mathematician. She worked with Mr. Babbage on the Analytical Engine. J. R. R. Tolkien was not born yet. Her notes were published in the U.S. and in England! "Did she program?" some ask.`, false},
		{"a", "lookup", "Born", "(Result 1/2) J. R. R. Tolkien was not born yet.", false},
		{"b", "lookup", "born", "none was found in this conversation yet", true},
		{"b", "search", "Kettle", "Kettles boil water. They are old. A list.", false},
		{"a", "lookup", "born", "(Result 2/2) Ada was born in London.", false},
		{"a", "lookup", "born", `No more results: all 2 sentences with "born" in the page Ada Lovelace were shown.`, false},
		{"b", "lookup", "water", "(Result 1/1) Kettles boil water.", false},
		{"a", "lookup", "lord", "(Result 1/1) Her father was Lord Byron.", false},
		{"a", "lookup", "born", "(Result 1/2) J. R. R. Tolkien was not born yet.", false},
		{"a", "lookup", "kettle", `The page Ada Lovelace has no sentence with "kettle"`, false},
		{"a", "lookup", " ", "the keyword is empty", true},
		{"a", "search", "Countess of Lovelace", "(Ada Lovelace) Augusta Ada King", false},
		{"a", "search", "Mercury", "Mercury may refer to several things. Similar: [Mercury (planet); Mercury (element); Mercury (mythology); Freddie Mercury; Mercury Records].", false},
		{"a", "lookup", "born", "(Result 1/2)", false}, // a search without a page leaves the last one open
		{"a", "search", "Mercurry", "Could not find Mercurry. Similar: [Mercury; Mercury (planet);", false},
		{"a", "search", "Qqq", "Could not find Qqq, nor anything similar.", false},
		{"a", "search", "a|b", "is no title", true},
		{"a", "search", "Limit", "asked too often", true},
	}
	for _, s := range steps {
		got, err := call(s.thread, s.tool, s.arg)
		if (err != nil) != (s.arg == "Limit") {
			t.Errorf("%s %s: %v", s.tool, s.arg, err)
		}
		if got.Failed != s.failed || !strings.Contains(got.Text, s.want) {
			t.Errorf("%s %s: failed %v: %s\nwant %s", s.tool, s.arg, got.Failed, got.Text, s.want)
		}
	}
	before := w.requests
	if _, err := call("c", "search", "Ada Lovelace"); err != nil || w.requests != before {
		t.Errorf("%d requests for a page that is known: %v", w.requests-before, err)
	}
}

// TestAfterRestart goes on with nothing but what the thread's log says.
// Titles that differ in their letter case alone are of different pages.
func TestLetterCase(t *testing.T) {
	server := httptest.NewServer(&wiki{t: t})
	defer server.Close()
	call := wikiOf(t, server.URL+"/w/api.php")
	for arg, want := range map[string]string{"Us": "Us is a film.", "US": "The United States is a country."} {
		if r, err := call("a", "search", arg); err != nil || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q, %v", arg, r.Text, err)
		}
	}
}

func TestAfterRestart(t *testing.T) {
	w := &wiki{t: t}
	server := httptest.NewServer(w)
	defer server.Close()
	past := map[string][]chat.ToolCall{}
	before := wikiAfter(t, server.URL, past)
	for _, step := range [][2]string{{"search", " Ada  Lovelace"}, {"lookup", "born"}, {"search", "Mercury"}, {"search", "Mercurry"}, {"lookup", "kettle"}, {"lookup", " "}} {
		_, _ = before("a", step[0], step[1])
	}
	w.requests = 0
	after := wikiAfter(t, server.URL, past)
	for _, want := range []string{"(Result 2/2) Ada was born in London.", "No more results: all 2"} {
		if got, err := after("a", "lookup", "Born"); err != nil || !strings.Contains(got.Text, want) {
			t.Errorf("%v: %s\nwant %s", err, got.Text, want)
		}
	}
	if w.requests != 1 {
		t.Errorf("%d requests for one page", w.requests)
	}
	if got, err := wikiAfter(t, "http://"+tooltest.Listen(t, ""), past)("a", "lookup", "born"); err == nil || !strings.Contains(got.Text, "cannot be reached") {
		t.Errorf("without the server: %v: %s", err, got.Text)
	}
}

// TestReading is about which calls of a thread count.
func TestReading(t *testing.T) {
	server := httptest.NewServer(&wiki{t: t, plain: true})
	defer server.Close()
	ada := chat.ToolCall{Tool: "wikipedia_search", Args: `{"entity":"Ada Lovelace"}`, State: chat.CallDone, Observation: "Augusta"}
	born := chat.ToolCall{Tool: "wikipedia_lookup", Args: `{"keyword":"born"}`, State: chat.CallDone}
	with := func(c chat.ToolCall, state chat.CallState, args string) chat.ToolCall {
		c.State, c.Args = state, args
		return c
	}
	tests := []struct {
		name string
		past []chat.ToolCall
		want string
	}{
		{"a search that failed", []chat.ToolCall{with(ada, chat.CallFailed, ada.Args)}, "there is no page"},
		{"a search of unknown outcome", []chat.ToolCall{with(ada, chat.CallUnknown, ada.Args)}, "there is no page"},
		{"a search that cannot be read", []chat.ToolCall{with(ada, chat.CallDone, "{")}, "there is no page"},
		{"a search that is only a stub, and found nothing", []chat.ToolCall{ada, with(ada, chat.CallDone, `{"entity":"Nobody"}`)}, "(Result 1/2)"},
		{"another search, then the first again", []chat.ToolCall{ada, born, with(ada, chat.CallDone, `{"entity":"Kettle"}`), ada}, "(Result 1/2)"},
		{"a lookup that failed", []chat.ToolCall{ada, with(born, chat.CallFailed, born.Args)}, "(Result 1/2)"},
		{"a lookup", []chat.ToolCall{ada, born}, "(Result 2/2)"},
		{"another tool between", []chat.ToolCall{ada, born, {Tool: "clock", Args: `{"keyword":"lord"}`, State: chat.CallDone}}, "(Result 2/2)"},
		{"another word between", []chat.ToolCall{ada, born, with(born, chat.CallDone, `{"keyword":"lord"}`)}, "(Result 1/2)"},
		{"a word between that is nowhere", []chat.ToolCall{ada, born, with(born, chat.CallDone, `{"keyword":"kettle"}`)}, "(Result 2/2)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wikiAfter(t, server.URL, map[string][]chat.ToolCall{"a": tt.past})("a", "lookup", "born")
			if err != nil || !strings.Contains(got.Text, tt.want) {
				t.Errorf("%v: %s\nwant %s", err, got.Text, tt.want)
			}
		})
	}
}

// TestWebAPITrouble is every way in which a configured service can fail. The
// operator learns of each, and never what was asked.
func TestWebAPITrouble(t *testing.T) {
	handler := func(f func(w http.ResponseWriter, r *http.Request)) string {
		s := httptest.NewServer(http.HandlerFunc(f))
		t.Cleanup(s.Close)
		return s.URL
	}
	status := func(code int) string {
		return handler(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	tests := []struct{ name, url, want, operator string }{
		{"down", "http://" + tooltest.Listen(t, ""), "cannot be reached", "refused"},
		{"garbage on the wire", "http://" + tooltest.Listen(t, "220 smtp ready\r\n"), "cannot be reached", "malformed HTTP"},
		{"page instead of JSON", handler(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hunter2") }), "makes no sense", "check api_url"},
		{"wrong JSON", handler(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"query":"hunter2"}`) }), "makes no sense", "check api_url"},
		{"huge", handler(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"query":"`+strings.Repeat("x", web.AnswerMost)+`"}`)
		}), "too long", "too long"},
		{"401", status(401), "does not let this program in", "401"},
		{"403", status(403), "does not let this program in", "403"},
		{"429", status(429), "asked too often", "429"},
		{"500", status(500), "trouble of its own", "500"},
		{"redirect to another host", handler(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/?"+r.URL.RawQuery, http.StatusFound)
		}), "answers 302", "302"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wikiOf(t, tt.url)("a", "search", "hunter2")
			if !got.Failed || !strings.Contains(got.Text, tt.want) {
				t.Errorf("failed %v: %s\nwant %q", got.Failed, got.Text, tt.want)
			}
			if err == nil || !strings.Contains(err.Error(), tt.operator) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v, want %q", err, tt.operator)
			}
		})
	}
}

func TestWebAPISlow(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	w, err := open(Keys{APIURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w.api.Client.Timeout = 50 * time.Millisecond
	got, err := w.search(t.Context(), tools.Input{}, wikiArgs{Entity: "x"})
	if err == nil || !strings.Contains(got.Text, "does not answer in time") {
		t.Errorf("%v: %s", err, got.Text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err = w.search(ctx, tools.Input{}, wikiArgs{Entity: "x"})
	if err == nil || !got.Failed {
		t.Errorf("%v: %s", err, got.Text)
	}
}

func TestSentences(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"three", "One. Two! Three? ", []string{"One.", "Two!", "Three?"}},
		{"numbers", "It is 3.5 m high. 5 of them.", []string{"It is 3.5 m high.", "5 of them."}},
		{"abbreviation", "Dr. No met e.g. Mr. X. He left.", []string{"Dr. No met e.g. Mr. X. He left."}},
		{"lower case goes on", "The firm Yahoo! was big. It was.", []string{"The firm Yahoo! was big.", "It was."}},
		{"quotes", `He said "no." “Yes.”`, []string{`He said "no." “Yes.”`}},
		{"lines", "One\n\n== Head ==\nTwo", []string{"One", "Two"}},
		{"Chinese", "北京是首都。上海很大！", []string{"北京是首都。", "上海很大！"}},
		{"nothing", " \n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sentences(tt.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzSentences: nothing but space and headings is lost.
func FuzzSentences(f *testing.F) {
	f.Add("One. Two! Dr. No.\n== x ==\n。é")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "==") {
			t.Skip()
		}
		if got, want := strings.Join(sentences(text), " "), strings.ToValidUTF8(text, "\ufffd"); strings.Join(strings.Fields(got), "") != strings.Join(strings.Fields(want), "") && want == text {
			t.Errorf("%q became %q", text, got)
		}
	})
}

func TestHostileServers(t *testing.T) {
	tooltest.HostileServers(t, func(url string, limit time.Duration) tools.Tool {
		w, err := open(Keys{APIURL: url})
		if err != nil {
			t.Fatal(err)
		}
		w.api.Client.Timeout = limit
		return tools.New("wikipedia_search", searchProse, searchParameters, w.search)
	}, nil)
}
