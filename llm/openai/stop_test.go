package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/llm"
)

// TestStopEndsStream has servers that ignore the stop words and go on. The answer ends
// before the word, and the watcher hears nothing of the word or after it.
func TestStopEndsStream(t *testing.T) {
	said := func(s string) string {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	apis := map[string]struct {
		limits limits
		event  func(text string) string
	}{
		"chat":      {0, func(text string) string { return delta(`{"content":` + said(text) + `}`) }},
		"responses": {needsResponses, func(text string) string { return `{"type":"response.output_text.delta","delta":` + said(text) + `}` }},
	}
	tests := []struct {
		name   string
		pieces []string
		want   string
	}{
		{"in one piece", []string{"Action: f\nObservation: made up"}, "Action: f\n"},
		{"over pieces", []string{"Action: f\nOb", "serv", "ation", ": made", " up"}, "Action: f\n"},
		{"nearly, and then", []string{"Observe: Obser", "ve Observ", "ation: x"}, "Observe: Observe "},
		{"at once", []string{"Observation:"}, ""},
	}
	for name, api := range apis {
		for _, tt := range tests {
			t.Run(name+", "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var events []string
					for _, p := range tt.pieces {
						events = append(events, api.event(p))
					}
					m := New(Options{BaseURL: "http://model.test", Model: "m", HTTP: stuck{sse(events...)}, Stream: true, Timeout: time.Minute})
					m.known = api.limits
					start := time.Now()
					var heard strings.Builder
					r, err := m.Complete(t.Context(), llm.Request{Messages: hi.Messages, Stop: []string{"Observation:", "Observation:\n"}}, func(d llm.Delta) {
						heard.WriteString(d.Text)
					})
					if err != nil || r.Text != tt.want || r.Finish != "stop" || heard.String() != tt.want {
						t.Errorf("got %+v, %v, and heard %q; want %q", r, err, heard.String(), tt.want)
					}
					if took := time.Since(start); took != 0 {
						t.Errorf("waited %v for what is not wanted", took)
					}
				})
			})
		}
	}
}

// TestStopHeldBack ends with what looked like the beginning of a stop word.
func TestStopHeldBack(t *testing.T) {
	s := &script{serve: []served{{body: sse(delta(`{"content":"see Observ"}`), stop, done)}}}
	m, _ := s.model(nil)
	var heard strings.Builder
	r, err := m.Complete(t.Context(), llm.Request{Messages: hi.Messages, Stop: []string{"Observation:"}}, func(d llm.Delta) { heard.WriteString(d.Text) })
	if err != nil || r.Text != "see Observ" || heard.String() != r.Text {
		t.Errorf("got %+v, %v, and heard %q", r, err, heard.String())
	}
}

// TestStopHangsUp lets the server know that nobody listens any more.
func TestStopHangsUp(t *testing.T) {
	left := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		defer close(left)
		w.Header().Set("Content-Type", "text/event-stream")
		for req.Context().Err() == nil {
			if _, err := fmt.Fprint(w, sse(delta(`{"content":"x Observation: "}`))); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}))
	defer server.Close()
	m := New(Options{BaseURL: server.URL, Model: "m", Stream: true})
	r, err := m.Complete(t.Context(), llm.Request{Messages: hi.Messages, Stop: []string{"Observation:"}}, nil)
	if err != nil || r.Text != "x " {
		t.Errorf("got %+v, %v", r, err)
	}
	<-left
}
