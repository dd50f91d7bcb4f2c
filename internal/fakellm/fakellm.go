// Package fakellm is an OpenAI-compatible endpoint whose answers a test decides,
// for tests that run the whole program. It speaks Chat Completions, streamed or
// not, over real TCP. It refuses what strict servers refuse, so that whatever
// works here works with those, too.
package fakellm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Message is a message of a request, as far as a test looks at it.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// Text is the message's text.
func (m Message) Text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	return string(m.Content)
}

// Request is one request.
type Request struct {
	Model    string            `json:"model"`
	Messages []Message         `json:"messages"`
	Tools    []json.RawMessage `json:"tools"` // none where none may be called
	Choice   string            `json:"tool_choice"`
	Stream   bool              `json:"stream"`
	Stop     []string          `json:"stop"`
}

// Last is the text of the last message, and Role who it is from.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Whole is the text of all messages.
func (r Request) Whole() string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "[%s] %s\n", m.Role, m.Text())
	}
	return b.String()
}

// Call is a tool call.
type Call struct{ Name, Args string }

// Reply is what the model says. With Status it is an error instead.
type Reply struct {
	Text   string
	Calls  []Call
	Status int
	Fault  string // what the error says; a word of the test's where it is empty
}

// Server is the endpoint.
type Server struct {
	URL  string // for llm.base_url
	rule func(Request) Reply
	web  *httptest.Server

	mu      sync.Mutex
	seen    []Request
	refused []string
}

// Start starts an endpoint that ends with the test. It answers by the rule, which
// is called concurrently and may wait.
func Start(t testing.TB, rule func(Request) Reply) *Server {
	t.Helper()
	s := New(rule)
	t.Cleanup(s.Close)
	return s
}

// New starts an endpoint that runs until Close.
func New(rule func(Request) Reply) *Server {
	s := &Server{rule: rule}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"object":"list","data":[]}`))
	})
	s.web = httptest.NewServer(mux)
	s.URL = s.web.URL + "/v1"
	return s
}

// Close ends it.
func (s *Server) Close() { s.web.Close() }

// Requests are the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

// Refused are the words of a strict server, for what it would have refused.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refused...)
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	var req Request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(req.Messages) == 0 { // what a check sends is no request
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"message":"Invalid 'messages': empty array.","type":"invalid_request_error"}}`))
		return
	}
	why := strict(req)
	if req.Choice == "none" {
		req.Tools = nil
	}
	s.mu.Lock()
	s.seen = append(s.seen, req)
	if why != "" {
		s.refused = append(s.refused, why)
	}
	s.mu.Unlock()
	reply := Reply{Status: http.StatusBadRequest, Fault: why}
	if why == "" {
		reply = s.rule(req)
	}
	if reply.Status != 0 {
		if reply.Fault == "" {
			reply.Fault = fmt.Sprintf("status %d as the test wants it", reply.Status)
		}
		w.WriteHeader(reply.Status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": reply.Fault, "type": "invalid_request_error"}})
		return
	}
	choice := map[string]any{"index": 0, "finish_reason": finish(reply)}
	body := map[string]any{"id": "x", "object": "chat.completion", "model": req.Model, "choices": []any{choice}, "usage": map[string]int{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
	if !req.Stream {
		choice["message"] = message(reply)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	body["object"], choice["delta"] = "chat.completion.chunk", message(reply)
	raw, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", raw)
}

func finish(r Reply) string {
	if len(r.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func message(r Reply) map[string]any {
	m := map[string]any{"role": "assistant", "content": r.Text}
	var calls []any
	for i, c := range r.Calls {
		calls = append(calls, map[string]any{
			"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function",
			"function": map[string]string{"name": c.Name, "arguments": c.Args},
		})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}
