package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
	"nod/setting"
)

// served is one response of a script.
type served struct {
	status int // 0: 200
	header http.Header
	body   string
	tail   error // comes after the body, instead of its end
	err    error // instead of any response
}

// script is a provider that serves one response after the other, the last one for ever,
// and keeps the requests.
type script struct {
	mu    sync.Mutex
	serve []served
	asked []asked
}

type asked struct {
	path   string
	query  string
	header http.Header
	body   map[string]any
	raw    string
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	a := asked{path: req.URL.Path, query: req.URL.RawQuery, header: req.Header, raw: string(raw)}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		return nil, err
	}
	if req.ContentLength != int64(len(raw)) {
		return nil, errors.New("content length " + strconv.FormatInt(req.ContentLength, 10))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, a)
	r := s.serve[min(len(s.asked), len(s.serve))-1]
	if r.err != nil {
		return nil, r.err
	}
	body := io.Reader(strings.NewReader(r.body))
	if r.tail != nil {
		body = io.MultiReader(body, failing{r.tail})
	}
	if r.status == 0 {
		r.status = 200
	}
	if r.header == nil {
		r.header = http.Header{}
	}
	return &http.Response{StatusCode: r.status, Status: http.StatusText(r.status), Header: r.header, Body: io.NopCloser(body), Request: req}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// model gives a model that talks to the script, and the waits that it made.
func (s *script) model(change func(*Options)) (*Model, *[]time.Duration) {
	var waits []time.Duration
	n := 0
	o := Options{
		BaseURL: "http://model.test/v1", APIKey: setting.NewSecret("v3ry.secret"), Model: "m", HTTP: s, Stream: true,
		Sleep: func(ctx context.Context, d time.Duration) error {
			waits = append(waits, d)
			return ctx.Err()
		},
		Jitter: func() float64 { return 0 },
		NewID:  func() string { n++; return "new" + strconv.Itoa(n) },
	}
	if change != nil {
		change(&o)
	}
	return New(o), &waits
}

var hi = llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}

const good = `data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}

data: [DONE]

`

const goodWhole = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`

func fault(t *testing.T, err error) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want an *llm.Error", err)
	}
	return e
}

func ptr(f float32) *float32 { return &f }

func TestRequest(t *testing.T) {
	req := llm.Request{
		Messages: []llm.Message{
			{Role: llm.System, Text: "be kind"},
			{Role: llm.User, Text: "look", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "a", Name: "clock"}, {ID: "b", Name: "calc", Args: `{"e":`}}},
			{Role: llm.ToolRole, CallID: "a", Text: "noon"},
			{Role: llm.ToolRole, CallID: "b"},
			{Role: llm.Assistant},
			{Role: llm.User},
		},
		Tools: []llm.Tool{{Name: "clock", Description: "tells the time", Parameters: json.RawMessage(`{"type":"object","default":"\"temperature\":1e-45"}`)}, {Name: "calc"}},
		Stop:  []string{"Observation:"},
	}
	s := &script{serve: []served{{body: good}}}
	m, _ := s.model(func(o *Options) { o.Temperature, o.TopP = ptr(0), ptr(0.5) })
	if _, err := m.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	want := `{
		"model": "m", "stream": true, "stream_options": {"include_usage": true}, "temperature": 0, "top_p": 0.5, "stop": ["Observation:"],
		"messages": [
			{"role": "system", "content": "be kind"},
			{"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,eA=="}}]},
			{"role": "assistant", "tool_calls": [
				{"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}},
				{"id": "b", "type": "function", "function": {"name": "calc", "arguments": "{\"invalid_arguments\":\"{\\\"e\\\":\"}"}}]},
			{"role": "tool", "content": "noon", "tool_call_id": "a"},
			{"role": "tool", "content": "(empty)", "tool_call_id": "b"},
			{"role": "user", "content": "(empty)"}
		],
		"tools": [
			{"type": "function", "function": {"name": "clock", "description": "tells the time", "parameters": {"type": "object", "default": "\"temperature\":1e-45"}}},
			{"type": "function", "function": {"name": "calc", "parameters": {"type": "object", "properties": {}}}}
		]
	}`
	var w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, s.asked[0].body); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if got := s.asked[0].header.Get("Authorization"); got != "Bearer v3ry.secret" {
		t.Errorf("authorization %q", got)
	}
	if s.asked[0].path != "/v1/chat/completions" {
		t.Errorf("path %q", s.asked[0].path)
	}
}

// Some endpoints want something behind the ? of their address.
func TestQueryOfTheAddress(t *testing.T) {
	s := &script{serve: []served{{body: good}}}
	m, _ := s.model(func(o *Options) { o.BaseURL = "http://model.test/v1/?api-version=preview&x=%2F" })
	if _, err := m.Complete(t.Context(), hi, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.asked[0]; got.path != "/v1/chat/completions" || got.query != "api-version=preview&x=%2F" {
		t.Errorf("asked at %q with %q", got.path, got.query)
	}
}

func TestAbsentIsNotSent(t *testing.T) {
	for _, stream := range []bool{true, false} {
		s := &script{serve: []served{{body: goodWhole}}}
		m, _ := s.model(func(o *Options) { o.APIKey, o.Stream = setting.Secret{}, stream })
		if _, err := m.Complete(t.Context(), hi, nil); err != nil {
			t.Fatal(err)
		}
		for _, k := range []string{"temperature", "top_p", "stop", "tools", "max_tokens", "parallel_tool_calls"} {
			if v, ok := s.asked[0].body[k]; ok {
				t.Errorf("stream %v: %s sent: %v", stream, k, v)
			}
		}
		if _, ok := s.asked[0].body["stream_options"]; ok != stream {
			t.Errorf("stream %v: stream_options sent: %v", stream, ok)
		}
		if v, ok := s.asked[0].header["Authorization"]; ok {
			t.Errorf("authorization sent without a key: %q", v)
		}
	}
}

// TestKeyStaysSecret makes the provider repeat the key in a refusal, in a stream and in
// an error of the connection. The key must be in no text that a person or a log might
// see.
func TestKeyStaysSecret(t *testing.T) {
	const key = "v3ry.secret"
	tests := map[string]served{
		"refusal":    {status: 401, body: `{"error":{"message":"Incorrect API key provided: v3ry.secret. Bearer v3ry.secret"}}`},
		"another":    {status: 401, body: `{"error":"your key v3ry.secret2 is not known"}`},
		"text":       {status: 400, body: `bad header Authorization: Bearer v3ry.secret`},
		"in band":    {body: "data: {\"error\":{\"message\":\"key v3ry.secret\",\"code\":400}}\n\n"},
		"overload":   {status: 503, body: `v3ry.secret`},
		"connection": {err: errors.New("dial v3ry.secret")},
	}
	for name, r := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := &script{serve: []served{r}}
			m, _ := s.model(func(o *Options) {
				o.BaseURL = "http://user:v3ry.secret@model.test/v1"
				o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			})
			_, err := m.Complete(t.Context(), hi, nil)
			if err == nil || strings.Contains(err.Error(), key) || strings.Contains(log.String(), key) {
				t.Errorf("error %q, log %q", err, log.String())
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{serve: []served{{body: `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n", tail: context.Canceled}}}
	m, _ := s.model(nil)
	_, err := m.Complete(ctx, hi, func(llm.Delta) { cancel() })
	if !errors.Is(err, context.Canceled) || errors.As(err, new(*llm.Error)) {
		t.Errorf("error %v, want that of the context", err)
	}
	if len(s.asked) != 1 {
		t.Errorf("%d requests, want 1", len(s.asked))
	}
}

// TestConnection is kept from call to call, with a real server and client.
func TestConnection(t *testing.T) {
	var mu sync.Mutex
	opened := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for line := range strings.Lines(good) {
			_, _ = io.WriteString(w, line)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			mu.Lock()
			opened++
			mu.Unlock()
		}
	}
	server.Start()
	defer server.Close()
	m := New(Options{BaseURL: server.URL + "/v1/", Model: "m", Stream: true})
	for range 5 {
		if r, err := m.Complete(t.Context(), hi, nil); err != nil || r.Text != "ok" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if opened != 1 {
		t.Errorf("%d connections, want 1", opened)
	}
}

func TestConcurrent(t *testing.T) {
	s := &script{serve: []served{{body: good}}}
	m, _ := s.model(func(o *Options) { o.Temperature = ptr(0.2) })
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if r, err := m.Complete(t.Context(), hi, func(llm.Delta) {}); err != nil || r.Text != "ok" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	wg.Wait()
}

// A redirect is an error, wherever it leads: the conversation stays with the host
// that the file names.
func TestRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, stream := range []bool{true, false} {
			went := false
			elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { went = true }))
			own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, status)
			}))
			m := New(Options{BaseURL: own.URL, Model: "m", Stream: stream})
			_, err := m.Complete(t.Context(), hi, nil)
			if e := fault(t, err); e.Fault != llm.Refused || e.Status != status {
				t.Errorf("%d: error %+v", status, *e)
			}
			own.Close()
			elsewhere.Close()
			if went {
				t.Errorf("%d was followed", status)
			}
		}
	}
}
