package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"nod/llm"
)

// stream is a server that answers every request with the same events.
type stream string

// RoundTrip implements http.RoundTripper.
func (s stream) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(s))), Request: r,
	}, nil
}

// BenchmarkStream takes in an answer of 500 pieces, as OpenAI sends them.
func BenchmarkStream(b *testing.B) {
	const pieces = 500
	events := make([]string, 0, pieces+2)
	for range pieces {
		events = append(events, `{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk","created":1741569952,"model":"gpt-4.1-2025-04-14",`+
			`"service_tier":"default","system_fingerprint":"fp_44added55e","choices":[{"index":0,"delta":{"content":" disk"},"logprobs":null,"finish_reason":null}],"usage":null}`)
	}
	m := New(Options{BaseURL: "http://model.test", Model: "m", HTTP: stream(sse(append(events, stop, done)...)), Stream: true})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Complete(b.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, func(llm.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}
