package args

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func seed(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"a": 1, "b": [true, null, "x\"}"]}`, `{"a":`, `{'a': 'b'}`, "```json\n{\"a\":1}\n```\nDone.",
		`{"a": "\d"}`, `{"a":1}{"b":2}`, `{a: b, c: 'd', // e` + "\n}", "sky\nObservation: blue", `{"a": "he said "hi" x"}`,
		`{“a”: “b”}`, `{"a": [1, 2, ...]}`, `{"a": 1e99}`, `"quoted"`, `{"a": /re/}`, `{"a": "x" + "y"}`, `{"a": fn("x")}`, `{}{"a":1}`, `"{\"a\":1}"`,
	} {
		f.Add(s)
	}
}

// FuzzNative: what is accepted begins, fence aside, with what encoding/json
// reads, and means the same.
func FuzzNative(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Native(in)
		if err != nil {
			return
		}
		body := strings.TrimSpace(strings.TrimPrefix(in, "\ufeff"))
		if body == "" || body == "null" || strings.HasPrefix(body, "{}") || body[0] == '"' || body[0] == '[' {
			return
		}
		if i := strings.IndexByte(body, '{'); i > 0 && strings.HasPrefix(body, "```") {
			body = body[i:]
		}
		var raw json.RawMessage
		if err := json.NewDecoder(strings.NewReader(body)).Decode(&raw); err != nil {
			t.Fatalf("Native accepts %q as %s, encoding/json says %v", in, got, err)
		}
		if want := Canonical(raw); !bytes.Equal(Canonical(got), want) {
			t.Fatalf("Native reads %q as %s, encoding/json as %s", in, got, want)
		}
	})
}

// FuzzPrefix: no proper prefix of an object is ever accepted.
func FuzzPrefix(f *testing.F) {
	seed(f)
	one, err := Compile(json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := Native(in)
		if err != nil || len(whole) > 200 {
			return
		}
		for n := 1; n < len(whole); n++ {
			if got, err := Native(string(whole[:n])); err == nil {
				t.Fatalf("Native completes %q to %s", whole[:n], got)
			}
			for _, schema := range []*Schema{nil, one} {
				if got, err := Text(string(whole[:n]), schema); err == nil {
					t.Fatalf("Text completes %q to %s", whole[:n], got)
				}
			}
		}
		if n, err := extent(string(whole)); err != nil || n != len(whole) {
			t.Fatalf("extent(%q) = %d, %v", whole, n, err)
		}
	})
}

// FuzzText: whatever is accepted is one JSON object, and reads the same again.
func FuzzText(f *testing.F) {
	seed(f)
	one, err := Compile(json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, schema := range []*Schema{nil, one} {
			got, err := Text(in, schema)
			if err != nil {
				// A text protocol hands on refused arguments unchanged: they must not
				// run then.
				if raw, err := Native(in); err == nil && string(raw) != `{}` && !strings.Contains(in, "Observation:") {
					t.Fatalf("Text refuses %q, which Native reads as %s", in, raw)
				}
				continue
			}
			again, err := Native(string(got))
			if err != nil || !bytes.Equal(Canonical(got), Canonical(again)) {
				t.Fatalf("Text reads %q as %s, which Native reads as %s, %v", in, got, again, err)
			}
			one.Check(got)
		}
	})
}

// TestRecorded reads every argument text that real models wrote. Those are
// whole, so that a refusal would be a fault of ours.
func TestRecorded(t *testing.T) {
	file, err := os.Open("../../../shared/data/chat-completions.jsonl")
	if err != nil {
		t.Skip("no recorded exchanges here")
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	read := 0
	for lines.Scan() {
		for _, text := range recordedArguments(t, lines.Bytes()) {
			read++
			if _, err := Native(text); err != nil {
				t.Errorf("Native(%q): %v", text, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if read == 0 {
		t.Error("no arguments in the recorded exchanges")
	}
	t.Logf("%d argument texts", read)
}

// recordedArguments finds the arguments of the tool calls in an answer that
// was not streamed, and in the prompt that it answers.
func recordedArguments(t *testing.T, line []byte) []string {
	t.Helper()
	type message struct {
		ToolCalls []struct {
			Function struct {
				Arguments any `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	}
	var exchange struct {
		Req  struct{ Messages []message }
		Body string
	}
	if err := json.Unmarshal(line, &exchange); err != nil {
		return nil // some requests are of another form
	}
	var body struct{ Choices []struct{ Message message } }
	_ = json.Unmarshal([]byte(exchange.Body), &body) // a stream or an error page is none
	messages := exchange.Req.Messages
	for _, c := range body.Choices {
		messages = append(messages, c.Message)
	}
	var out []string
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			if text, ok := c.Function.Arguments.(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}
