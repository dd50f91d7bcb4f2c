package openai

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"nod/llm"
)

// FuzzAnswer reads any response of a server, whole and as a stream, of both APIs.
// Nothing panics, the kept part is bounded and equal to the sum of the pieces, and the
// echo can be sent.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		good, goodWhole, sse(delta(`{"reasoning_content":"h",`+fn+`}`), stop, done), sse(delta(`{"content":"<think>h</think>o"}`), stop), sse(completed(outHm + "," + outText + "," + outCall)),
		sse(delta(`{"reasoning_details":[{"type":"reasoning.text","text":"h","index":0,"signature":"s"}]}`), delta(`{`+fn+`}`), stop),
		`{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x":1}},"extra_content":{"g":1}}]}}]}`,
		`{"error":{"message":"no"}}`, `[{"error":{}}]`, "event: error\ndata: x\n\n", "data: {\ndata: }\n\n", `<html><title>x</title>`, ": \n", "",
	} {
		f.Add(body, true, false, 100)
		f.Add(body, false, true, 3)
	}
	f.Fuzz(func(t *testing.T, body string, stream, responses bool, most int) {
		if most < 1 || most > 1<<20 || len(body) > 1<<16 {
			t.Skip()
		}
		var log bytes.Buffer
		s := &script{serve: []served{{body: body}}}
		m, _ := s.model(func(o *Options) {
			o.Stream, o.MaxOutput, o.Logger = stream, most, slog.New(slog.NewTextHandler(&log, nil))
		})
		if responses {
			m.known = needsResponses
		}
		var heard llm.Response
		got, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
			if d.Reset {
				heard = llm.Response{}
			}
			heard.Text, heard.Reasoning = heard.Text+d.Text, heard.Reasoning+d.Reasoning
		})
		if strings.Contains(log.String(), "panic") {
			t.Fatalf("a panic: %s", log.String())
		}
		if err != nil {
			return
		}
		if len(got.Text)+len(got.Reasoning) > most {
			t.Errorf("%d bytes are kept, of at most %d", len(got.Text)+len(got.Reasoning), most)
		}
		if !responses && (heard.Text != got.Text || heard.Reasoning != got.Reasoning) {
			t.Errorf("heard %q and %q, got %q and %q", heard.Text, heard.Reasoning, got.Text, got.Reasoning)
		}
		if utf8.ValidString(body) && !utf8.ValidString(got.Text+got.Reasoning) {
			t.Error("a character was cut in two")
		}
		s.serve = []served{{body: good}}
		if _, err := m.Complete(t.Context(), sentBack(got), nil); err != nil && !responses && stream {
			t.Errorf("what came can't be sent back: %v", err)
		}
	})
}
