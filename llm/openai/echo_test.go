package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
)

// fn is a call in a stream.
const fn = `"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`

// back has the model answer with body, sends that back with ids as the protocol
// makes them, and gives the request's message with the calls, and its results.
func back(t *testing.T, m *Model, s *script) (msg dict, results []dict) {
	t.Helper()
	got, err := m.Complete(t.Context(), hi, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Complete(t.Context(), sentBack(got), nil); err != nil {
		t.Fatal(err)
	}
	for _, one := range list(s.asked[len(s.asked)-1].body, "messages") {
		switch one["role"] {
		case "assistant":
			msg = one
		case "tool":
			results = append(results, one)
		}
	}
	return msg, results
}

// sentBack is the request with which a turn goes on behind an answer with calls.
func sentBack(got llm.Response) llm.Request {
	out := llm.Message{Role: llm.Assistant, Text: got.Text, Echo: got.Echo}
	var results []llm.Message
	for i, c := range got.Calls {
		id := strings.Repeat(string(rune('0'+i)), 9)
		out.Calls = append(out.Calls, llm.Call{ID: id, Name: c.Name, Args: c.Args})
		results = append(results, llm.Message{Role: llm.ToolRole, CallID: id, Text: "done"})
	}
	return llm.Request{Messages: append([]llm.Message{hi.Messages[0], out}, results...)}
}

// A field that came beside text and calls goes back in the same field, in one piece.
func TestEcho(t *testing.T) {
	tests := []struct {
		name, body, want string
	}{
		{"nothing", sse(delta(`{`+fn+`}`), stop), `{}`},
		{"reasoning_content", sse(delta(`{"reasoning_content":"h"}`), delta(`{"reasoning_content":"m"}`), delta(`{`+fn+`}`), stop), `{"reasoning_content":"hm"}`},
		{"one that is empty", sse(delta(`{"reasoning_content":"",`+fn+`}`), stop), `{"reasoning_content":""}`},
		{"one that is null", sse(delta(`{"reasoning_content":null,"reasoning":null,"reasoning_details":null,`+fn+`}`), stop), `{}`},
		{"reasoning", sse(delta(`{"reasoning":"hm"}`), delta(`{`+fn+`}`), stop), `{"reasoning":"hm"}`},
		{"both", sse(delta(`{"reasoning":"hm","reasoning_content":"hm"}`), delta(`{`+fn+`}`), stop), `{"reasoning":"hm","reasoning_content":"hm"}`},
		{
			"details in pieces, signed at the end",
			sse(delta(`{"reasoning_details":[{"type":"reasoning.text","text":"h<","index":0,"format":"x","signature":null}]}`), delta(`{"reasoning_details":[{"type":"reasoning.text","text":"m","index":0,"format":"x"}]}`),
				delta(`{"reasoning_details":[{"type":"reasoning.text","signature":"s==","index":0,"format":"x"}]}`), delta(`{`+fn+`}`), stop),
			`{"reasoning_details":[{"type":"reasoning.text","text":"h<m","index":0,"format":"x","signature":"s=="}]}`,
		},
		{
			"several details", sse(delta(`{"reasoning_details":[{"type":"reasoning.summary","summary":"a","index":0},{"type":"reasoning.summary","summary":"b","index":1},{"type":"reasoning.encrypted","data":"c","index":1},{"type":"reasoning.encrypted","data":"d","index":1}]}`), delta(`{`+fn+`}`), stop),
			`{"reasoning_details":[{"type":"reasoning.summary","summary":"a","index":0},{"type":"reasoning.summary","summary":"b","index":1},{"type":"reasoning.encrypted","data":"c","index":1},{"type":"reasoning.encrypted","data":"d","index":1}]}`,
		},
		{"details that are none", sse(delta(`{"reasoning_details":["x",null,3]}`), delta(`{`+fn+`}`), stop), `{}`},
		{"between tags in the content", sse(delta(`{"content":"<think>hm</think>"}`), delta(`{`+fn+`}`), stop), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{serve: []served{{body: tt.body}, {body: good}}}
			m, _ := s.model(nil)
			msg, _ := back(t, m, s)
			delete(msg, "role")
			delete(msg, "tool_calls")
			var want dict
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, msg); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// A signature that names a call goes back with the call's own id; else the ids
// are those of the request.
func TestEchoIDs(t *testing.T) {
	for details, want := range map[string]string{
		`[{"type":"reasoning.encrypted","data":"s","id":"a"}]`:     "a",
		`[{"type":"reasoning.encrypted","data":"s","id":"rs_aa"}]`: "000000000",
	} {
		s := &script{serve: []served{{body: sse(delta(`{"reasoning_details":`+details+`,`+fn+`}`), stop)}, {body: good}}}
		m, _ := s.model(nil)
		msg, results := back(t, m, s)
		if id := text(list(msg, "tool_calls")[0], "id"); id != want || text(results[0], "tool_call_id") != want {
			t.Errorf("%s: call %s, result of %s, want %s", details, id, text(results[0], "tool_call_id"), want)
		}
	}
}

// Gemini signs each call.
func TestEchoOfCalls(t *testing.T) {
	const signed = `{"google":{"thought_signature":"s+/="}}`
	body := `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":` + signed + `},{"id":"b","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"stop"}]}`
	s := &script{serve: []served{{body: body}, {body: goodWhole}}}
	m, _ := s.model(func(o *Options) { o.Stream = false })
	msg, _ := back(t, m, s)
	var want any
	if err := json.Unmarshal([]byte(signed), &want); err != nil {
		t.Fatal(err)
	}
	calls := list(msg, "tool_calls")
	if diff := cmp.Diff([]any{want, nil}, []any{calls[0]["extra_content"], calls[1]["extra_content"]}); diff != "" {
		t.Errorf("extra_content (-want +got):\n%s", diff)
	}
}

// No model gets another model's reasoning, and foreign fields stay untouched.
func TestEchoOfAnother(t *testing.T) {
	reasoned := sse(delta(`{"reasoning":"hm",`+fn+`}`), stop)
	s := &script{serve: []served{{body: reasoned}, {body: good}}}
	m, _ := s.model(nil)
	got, err := m.Complete(t.Context(), hi, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"the same":         func(*Options) {},
		"another model":    func(o *Options) { o.Model = "n" },
		"another provider": func(o *Options) { o.BaseURL = "http://other.test/v1" },
	} {
		s := &script{serve: []served{{body: good}}}
		m, _ := s.model(change)
		if _, err := m.Complete(t.Context(), sentBack(got), nil); err != nil {
			t.Fatal(err)
		}
		if sent := strings.Contains(s.asked[0].raw, "hm"); sent != (name == "the same") {
			t.Errorf("%s: sent %v: %s", name, sent, s.asked[0].raw)
		}
	}
	odd := sentBack(got)
	odd.Messages[1].Echo = llm.Echo(`["?"]`)
	if _, err := m.Complete(t.Context(), odd, nil); err != nil {
		t.Errorf("an echo that is none: %v", err)
	}
	if strings.Contains(string(got.Echo), "v3ry") {
		t.Errorf("a key in %s", got.Echo)
	}
}

// A provider that refuses its own fields gets none from then on. One that insists on a
// reasoning beside each call gets a space if there is none.
func TestEchoLearnt(t *testing.T) {
	reasoned := sse(delta(`{"reasoning_content":"hm",`+fn+`}`), stop)
	plain := sse(delta(`{`+fn+`}`), stop)
	for refusal, tt := range map[string]struct {
		first string
		want  any
	}{
		`{"message":"messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported","param":"validation_error","code":"wrong_api_format"}`: {reasoned, nil},
		`{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted"}]}`:                                  {reasoned, nil},
		"{\"error\":{\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}":                                                                                 {reasoned, nil},
		`{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 1"}}`:                                                      {plain, " "},
		"{\"error\":{\"message\":\"The `reasoning_content` in the thinking mode must be passed back to the API.\"}}":                                                                  {plain, " "},
	} {
		s := &script{serve: []served{{body: tt.first}, {status: 400, body: refusal}, {body: good}}}
		m, _ := s.model(nil)
		msg, _ := back(t, m, s)
		if got := msg["reasoning_content"]; got != tt.want || len(s.asked) != 3 {
			t.Errorf("%s: %v after %d requests, want %v", refusal, got, len(s.asked), tt.want)
		}
	}
}

// The Responses API stores nothing, so its reasoning comes along encrypted and
// goes back before the calls, whole.
func TestEchoOfResponses(t *testing.T) {
	const secret = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAAA=="}`
	s := &script{serve: []served{{body: sse(completed(secret + "," + outHm + "," + outCall))}, {body: sse(completed(outText))}}}
	m, _ := s.model(nil)
	m.known = needsResponses
	got, err := m.Complete(t.Context(), hi, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Complete(t.Context(), sentBack(got), nil); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, item := range list(s.asked[1].body, "input") {
		kinds = append(kinds, text(item, "role")+text(item, "type")+text(item, "encrypted_content"))
	}
	if diff := cmp.Diff([]string{"user", "reasoninggAAAA==", "function_call", "function_call_output"}, kinds); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
}

// A request's zeros are sent, which go-openai would leave out, and beside an echo, too.
func TestEchoBesideZeros(t *testing.T) {
	s := &script{serve: []served{{body: sse(delta(`{"reasoning":"<hm>",`+fn+`}`), stop)}, {body: good}}}
	m, _ := s.model(func(o *Options) { o.Temperature, o.TopP = ptr(0), ptr(0) })
	msg, _ := back(t, m, s)
	if b := s.asked[1].body; b["temperature"] != 0.0 || b["top_p"] != 0.0 || text(msg, "reasoning") != "<hm>" {
		t.Errorf("body %v", b)
	}
}
