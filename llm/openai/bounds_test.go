package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"nod/llm"
)

// flood is a server that sends head, then piece as often as told (0: for ever),
// then tail, and counts what is read of it.
type flood struct {
	head, piece, tail string
	times             int
	requests          int
	read              int
}

func (f *flood) RoundTrip(req *http.Request) (*http.Response, error) {
	f.requests++
	n := 0
	rest := f.head
	body := readerFunc(func(p []byte) (int, error) {
		for rest == "" {
			switch n++; {
			case f.times == 0 || n <= f.times:
				rest = f.piece
			case n == f.times+1:
				rest = f.tail
			default:
				return 0, io.EOF
			}
		}
		k := copy(p, rest)
		rest = rest[k:]
		f.read += k
		return k, nil
	})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: req}, nil
}

type readerFunc func([]byte) (int, error)

func (r readerFunc) Read(p []byte) (int, error) { return r(p) }

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// However much a server sends, bounded parts are read and kept, the beginning of the
// answer is there, and no call is repeated.
func TestFlood(t *testing.T) {
	const most = 64 << 10
	la := strings.Repeat("la la lä, and so on; ", 500)
	event := func(d string) string { return "data: " + d + "\n\n" }
	responses := `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"`
	tests := []struct {
		name  string
		flood flood
		whole bool
		lim   limits
		want  string // length, stop, or a fault
		read  int    // at most so many bytes
	}{
		{"a stream without an end", flood{piece: event(delta(`{"content":` + quoted(la) + `}`))}, false, 0, "length", 2 * most},
		{"a stream of 40 MB", flood{piece: event(delta(`{"content":` + quoted(la) + `}`)), times: 4000, tail: event(stop) + event(done)}, false, 0, "length", 2 * most},
		{"thoughts without an end", flood{piece: event(delta(`{"reasoning":` + quoted(la) + `}`))}, false, 0, "length", 2 * most},
		{"arguments without an end", flood{head: event(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\""}}]}`)), piece: event(delta(`{"tool_calls":[{"index":0,"function":{"arguments":` + quoted(la) + `}}]}`))}, false, 0, "length", 2 * most},
		{"a line without an end", flood{head: "data: ", piece: la}, false, 0, "malformed", 3 << 20},
		{"an event without an end", flood{piece: "data: " + la + "\n"}, false, 0, "malformed", 3 << 20},
		{"events with nothing in them, without an end", flood{piece: ": " + strings.Repeat("keep alive ", 5000) + "\n\n"}, false, 0, "malformed", streamCap + 1<<20},
		{"an answer in one, without an end", flood{head: `{"choices":[{"message":{"content":"`, piece: la}, true, 0, "length", 3 << 20},
		{"an answer in one of 40 MB", flood{head: `{"choices":[{"message":{"content":"`, piece: la + `\n`, times: 4000, tail: `"}}]}`}, true, 0, "length", 3 << 20},
		{"an answer in one where a stream was due", flood{head: `{"choices":[{"message":{"content":"`, piece: la, times: 4000, tail: `"}}]}`}, false, 0, "length", 3 << 20},
		{"the same, over lines", flood{head: "{\n" + `"choices":[{"message":{"content":"`, piece: la, times: 4000, tail: `"}}]}`}, false, 0, "length", 3 << 20},
		{"an answer in one without a text", flood{head: `{"choices":[{"message":{"tool_calls":["`, piece: la}, true, 0, "malformed", 3 << 20},
		{"a page without an end", flood{head: `<html>`, piece: la + "\n"}, false, 0, "malformed", 3 << 20},
		{"the Responses API", flood{piece: event(`{"type":"response.output_text.delta","delta":` + quoted(la) + `}`)}, false, needsResponses, "length", 2 * most},
		{"the Responses API, in one", flood{head: responses, piece: la, times: 4000, tail: `"}]}]}`}, true, needsResponses, "length", 3 << 20},
		{"the Responses API, with a long end", flood{head: "data: " + `{"type":"response.completed","response":` + responses, piece: la, times: 20, tail: `"}]}]}}` + "\n\n"}, false, needsResponses, "length", 3 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, waits := (&script{}).model(func(o *Options) { o.HTTP, o.MaxOutput, o.Stream = &tt.flood, most, !tt.whole })
			m.known = tt.lim
			heard := 0
			r, err := m.Complete(t.Context(), hi, func(d llm.Delta) { heard += len(d.Text + d.Reasoning) })
			got := r.Finish
			if err != nil {
				got = string(fault(t, err).Fault)
			}
			if got != tt.want {
				t.Errorf("%s, want %s: %v", got, tt.want, err)
			}
			size := len(r.Text) + len(r.Reasoning)
			for _, c := range r.Calls {
				size += len(c.Args)
				if json.Valid([]byte(c.Args)) {
					t.Error("arguments that were cut off can be read")
				}
			}
			if size > most || heard > most || got == "length" && size < most-len("ä") {
				t.Errorf("%d bytes are kept and %d were heard, of at most %d", size, heard, most)
			}
			if !utf8.ValidString(r.Text + r.Reasoning) {
				t.Error("a character was cut in two")
			}
			if tt.flood.requests != 1 || len(*waits) > 0 || tt.flood.read > tt.read {
				t.Errorf("%d requests, %d bytes read, want at most %d", tt.flood.requests, tt.flood.read, tt.read)
			}
		})
	}
}

// A text that fits is not changed.
func TestFits(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for most, want := range map[int]string{1000: "stop", 999: "length"} {
		for _, stream := range []bool{true, false} {
			body := `{"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`
			if stream {
				body = sse(delta(`{"content":"`+text+`"}`), stop, done)
			}
			s := &script{serve: []served{{body: body}}}
			m, _ := s.model(func(o *Options) { o.MaxOutput, o.Stream = most, stream })
			if r, err := m.Complete(t.Context(), hi, nil); err != nil || r.Finish != want || len(r.Text) != most {
				t.Errorf("%d, stream %v: %d bytes, %s, %v", most, stream, len(r.Text), r.Finish, err)
			}
		}
	}
}

// A panic is an error of this one call.
func TestPanic(t *testing.T) {
	s := &script{serve: []served{{body: good}}}
	m, _ := s.model(nil)
	_, err := m.Complete(t.Context(), hi, func(llm.Delta) { panic("no") })
	if e := fault(t, err); e.Fault != llm.Malformed {
		t.Errorf("fault %s", e.Fault)
	}
	if r, err := m.Complete(t.Context(), hi, nil); err != nil || r.Text != "ok" {
		t.Errorf("the next call: %+v, %v", r, err)
	}
}
