package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// A secret in a result is masked for the model, for people and in the log. A provider's
// own words, which repeat the prompt, are in no log.
func TestSecretsThroughTheProgram(t *testing.T) {
	const secret, passed = "srch-hunter2-s3cr3t", "passed-on-hunter2"
	t.Setenv("SERVICE_TOKEN", passed)
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"results":[{"title":"You sent %s","url":"https://a.example/","content":"x"}]}`, r.Header.Get("Authorization"))
	}))
	defer mirror.Close()
	w := newSlackWorld(t, fakeslack.Options{})
	rule := func(req fakellm.Request) fakellm.Reply {
		last := req.Last()
		if last.Role == "tool" {
			return fakellm.Reply{Text: "The tool says: " + last.Text()}
		}
		_, text, _ := strings.Cut(last.Text(), ": ")
		name, arguments, _ := strings.Cut(text, " ")
		if name == "provoke" {
			return fakellm.Reply{Status: http.StatusBadRequest, Fault: "Invalid value: '" + arguments + "'"}
		}
		return fakellm.Reply{Calls: []fakellm.Call{{Name: name, Args: arguments}}}
	}
	n := newService(t, w, rule, setup{tools: fmt.Sprintf(`
    - name: show
      description: Show.
      argv: [sh, -c, "echo it is $SERVICE_TOKEN"]
      env: [SERVICE_TOKEN]
      read_only: true
      risk: auto
  search: {provider: searxng, api_url: %q, api_key: %s}
`, mirror.URL, secret)})
	n.start()
	at := w.dm("ada", "show {}")
	n.find(at, "The tool says", "it is [secret]")
	at = w.dm("ada", `search {"query":"x"}`)
	n.find(at, "The tool says", "You sent Bearer [secret]")
	at = w.dm("ada", "say "+secret+" again")
	n.find(at, "There is no tool")
	at = w.dm("ada", "provoke private words one")
	n.find(at, "I could not answer")
	n.stop()
	for _, req := range n.llm.Requests() {
		all, err := json.Marshal(req)
		if err != nil || strings.Contains(string(all), secret) || strings.Contains(string(all), passed) {
			t.Errorf("a secret is in a prompt: %v %s", err, all)
		}
	}
	logs := n.logs.String()
	for _, not := range []string{secret, passed, "private words"} {
		if strings.Contains(logs, not) {
			t.Errorf("%q is in the log:\n%s", not, logs)
		}
	}
	if !strings.Contains(logs, "(status 400") {
		t.Errorf("what went wrong is not in the log:\n%s", logs)
	}
}

// A key in the address of the model's endpoint is printed by nothing.
func TestCheckPrintsNoKey(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, func(fakellm.Request) fakellm.Reply { return fakellm.Reply{} }, setup{})
	file := n.rewrite("key.yaml", n.llm.URL, n.llm.URL+"?key=hunter2-in-the-url")
	down := n.rewrite("down.yaml", n.llm.URL, "http://127.0.0.1:1/v1?key=hunter2-in-the-url")
	for _, f := range []string{file, down} {
		_, out, errs := commandLine(w, "check", "--config", f)
		if strings.Contains(out+errs, "hunter2") || !strings.Contains(out, "llm: ") {
			t.Errorf("%s\n%s", out, errs)
		}
	}
}

// The part behind the ? of the endpoint's address goes along with each request, and
// check asks at the same address.
func TestCheckAsksAtTheWholeAddress(t *testing.T) {
	t.Parallel()
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" && r.URL.Path != "/v1/chat/completions" || r.URL.RawQuery != "key=hunter2-in-the-url" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer models.Close()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, func(fakellm.Request) fakellm.Reply { return fakellm.Reply{} }, setup{})
	file := n.rewrite("query.yaml", n.llm.URL, models.URL+"/v1?key=hunter2-in-the-url")
	if _, out, errs := commandLine(w, "check", "--config", file); !strings.Contains(out, "ok    llm: ") {
		t.Errorf("%s\n%s", out, errs)
	}
}

// The calls of the model go nowhere else than to the address in the file, so check does
// not either: one that leads on, as http often does to https, is not well.
func TestCheckFollowsNoEndpointElsewhere(t *testing.T) {
	t.Parallel()
	there := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("check went elsewhere") }))
	defer there.Close()
	here := httptest.NewServer(http.RedirectHandler(there.URL, http.StatusMovedPermanently))
	defer here.Close()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, func(fakellm.Request) fakellm.Reply { return fakellm.Reply{} }, setup{})
	file := n.rewrite("elsewhere.yaml", n.llm.URL, here.URL+"/v1")
	status, out, errs := commandLine(w, "check", "--config", file)
	if status != exitFailed || !strings.Contains(out, "FAIL  llm: the endpoint leads elsewhere (status 301)") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
}

// An endpoint that lists its models, and not the one in the file, may still have it under
// another name; a misspelled one would be found with the first question only.
func TestCheckLooksForTheModel(t *testing.T) {
	t.Parallel()
	for list, says := range map[string]bool{
		`{"data":[{"id":"other"},{"id":"another"}]}`: true,
		`{"data":[{"id":"other"},{"id":"m"}]}`:       false,
		`{"data":[{"id":"m:latest"}]}`:               false,
		`{"data":[{"id":"models/m"}]}`:               false,
		`{"data":[]}`:                                false,
		`[{"id":"other"}]`:                           false,
		`no list`:                                    false,
	} {
		models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, list) }))
		w := newSlackWorld(t, fakeslack.Options{})
		n := newService(t, w, func(fakellm.Request) fakellm.Reply { return fakellm.Reply{} }, setup{})
		_, out, errs := commandLine(w, "check", "--config", n.rewrite("listed.yaml", n.llm.URL, models.URL+"/v1"))
		if !strings.Contains(out, "ok    llm: m at ") || strings.Contains(out, `, whose list of 2 models does not name it`) != says {
			t.Errorf("%s\n%s\n%s", list, out, errs)
		}
		models.Close()
	}
}
