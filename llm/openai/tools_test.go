package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
)

// offering lists the tools of a request that was made.
func offering(t *testing.T, a asked) []string {
	t.Helper()
	var body struct {
		Tools []struct {
			Function struct{ Name string } `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal([]byte(a.raw), &body); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, one := range body.Tools {
		out = append(out, one.Function.Name)
	}
	return out
}

// A tool that the provider refuses is left out and named in the log, and the
// others go on.
func TestToolLeftOut(t *testing.T) {
	tests := []struct {
		name, refuse string
		want         []string
	}{
		{"a schema, OpenAI", `{"error":{"message":"Invalid schema for function 'think': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.","type":"invalid_request_error","param":"tools[1].function.parameters","code":"invalid_function_parameters"}}`, []string{"clock", "calc"}},
		{"a schema, by name alone", `{"error":{"message":"Invalid schema for function 'think': bad","type":"invalid_request_error"}}`, []string{"clock", "calc"}},
		{"a description", `{"error":{"message":"Invalid 'tools[1].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 2781 instead.","type":"invalid_request_error","param":"tools[1].function.description","code":"string_above_max_length"}}`, []string{"clock", "calc"}},
		{"a schema, Anthropic", `{"error":{"message":"tools.2.custom.input_schema: JSON schema is invalid"}}`, []string{"clock", "think"}},
		{"a schema, Gemini", `[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: should be non-empty for OBJECT type","status":"INVALID_ARGUMENT"}}]`, []string{"clock", "think"}},
		{"too many", `{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.","type":"invalid_request_error","param":"tools","code":"array_above_max_length"}}`, []string{"clock", "think"}},
	}
	req := llm.Request{Messages: hi.Messages, Tools: []llm.Tool{{Name: "clock"}, {Name: "think", Description: "long"}, {Name: "calc"}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			s := &script{serve: []served{{status: 400, body: tt.refuse}, {body: good}}}
			m, _ := s.model(func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			for range 2 {
				if r, err := m.Complete(t.Context(), req, nil); err != nil || r.Text != "ok" {
					t.Fatalf("%+v, %v", r, err)
				}
			}
			if len(s.asked) != 3 {
				t.Fatalf("%d requests, want 3", len(s.asked))
			}
			for _, a := range s.asked[1:] {
				if diff := cmp.Diff(tt.want, offering(t, a)); diff != "" {
					t.Errorf("tools (-want +got):\n%s", diff)
				}
			}
			if n := strings.Count(log.String(), "tool left out"); n != 1 {
				t.Errorf("told %d times: %s", n, log.String())
			}
			req := req
			req.Tools = append([]llm.Tool{{Name: "think", Description: "short"}}, llm.Tool{Name: "clock"})
			if _, err := m.Complete(t.Context(), req, nil); err != nil || len(offering(t, s.asked[3])) != 2 {
				t.Errorf("a tool that was mended is not offered: %v", offering(t, s.asked[3]))
			}
		})
	}
}

// Every tool may be refused, one after the other, without an end of the turn.
func TestToolsLeftOutOneByOne(t *testing.T) {
	s := &script{}
	var tools []llm.Tool
	for i := range 20 {
		tools = append(tools, llm.Tool{Name: fmt.Sprint("t", i)})
		s.serve = append(s.serve, served{status: 400, body: `{"error":{"message":"Invalid schema","param":"tools[0].function.parameters"}}`})
	}
	s.serve = append(s.serve, served{body: good})
	m, _ := s.model(nil)
	if r, err := m.Complete(t.Context(), llm.Request{Messages: hi.Messages, Tools: tools}, nil); err != nil || r.Text != "ok" || len(s.asked) != 21 {
		t.Errorf("%+v, %v after %d requests", r, err, len(s.asked))
	}
}

// Only a refusal about messages means that the prompt is too long.
func TestTooLongOf(t *testing.T) {
	for param, want := range map[string]llm.Fault{
		"messages[1].content": llm.TooLong, "input[0].content": llm.TooLong, "tools[9].function.description": llm.Refused, "stop": llm.Refused, "": llm.Refused,
	} {
		s := &script{serve: []served{{status: 400, body: `{"error":{"message":"string too long","param":"` + param + `","code":"string_above_max_length"}}`}}}
		m, _ := s.model(nil)
		_, err := m.Complete(t.Context(), hi, nil)
		if e := fault(t, err); e.Fault != want {
			t.Errorf("%q: fault %s, want %s", param, e.Fault, want)
		}
	}
}

// At the last call of a turn the tools are there and none may be called. Messages in a
// row become one. A refusal of any of that is learnt.
func TestStrictOrder(t *testing.T) {
	req := llm.Request{
		NoCalls: true, Tools: []llm.Tool{{Name: "clock"}},
		Messages: []llm.Message{
			{Role: llm.System, Text: "s"},
			{Role: llm.User, Text: "a"},
			{Role: llm.User, Text: "b", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "123456789", Name: "clock"}}},
			{Role: llm.ToolRole, CallID: "123456789", Text: "noon"},
			{Role: llm.User, Text: "c"},
		},
	}
	s := &script{serve: []served{
		{status: 400, body: `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","param":null,"code":"3230"}`},
		{status: 422, body: `{"detail":[{"loc":["body","tool_choice"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`},
		{body: good},
	}}
	m, _ := s.model(nil)
	if r, err := m.Complete(t.Context(), req, nil); err != nil || r.Text != "ok" {
		t.Fatalf("%+v, %v", r, err)
	}
	for i, want := range []string{"system user assistant tool user", "system user assistant tool assistant user", "system user assistant tool assistant user"} {
		var roles []string
		for _, one := range s.asked[i].body["messages"].([]any) {
			roles = append(roles, one.(map[string]any)["role"].(string))
		}
		if got := strings.Join(roles, " "); got != want {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
	if s.asked[1].body["tool_choice"] != "none" || s.asked[2].body["tool_choice"] != nil || len(offering(t, s.asked[2])) != 1 {
		t.Errorf("tool_choice %v, then %v with %v", s.asked[1].body["tool_choice"], s.asked[2].body["tool_choice"], offering(t, s.asked[2]))
	}
	if parts, ok := s.asked[0].body["messages"].([]any)[1].(map[string]any)["content"].([]any); !ok || len(parts) != 2 || !strings.Contains(s.asked[0].raw, `a\n\nb`) {
		t.Errorf("content %v", parts)
	}
}

// A model that calls a forbidden tool gets no tools the next time, unless its server
// refuses calls without tools.
func TestHeedless(t *testing.T) {
	calls := served{body: sse(delta(`{`+fn+`}`), stop)}
	refusal := served{status: 400, body: "{\"error\":{\"message\":\"litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified.\"}}"}
	req := llm.Request{NoCalls: true, Tools: []llm.Tool{{Name: "f"}}, Messages: []llm.Message{
		{Role: llm.User, Text: "a"},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "123456789", Name: "f"}}},
		{Role: llm.ToolRole, CallID: "123456789", Text: "b"},
	}}
	s := &script{serve: []served{calls, {body: good}, refusal, calls, {body: good}}}
	m, _ := s.model(nil)
	for i := range 4 {
		if _, err := m.Complete(t.Context(), req, nil); err != nil {
			t.Fatalf("call %d: %v", i+1, err)
		}
	}
	var shown []int
	for _, a := range s.asked {
		shown = append(shown, len(offering(t, a)))
		if (a.body["tool_choice"] == "none") != (len(offering(t, a)) > 0) {
			t.Errorf("tool_choice %v beside %d tools", a.body["tool_choice"], len(offering(t, a)))
		}
	}
	if diff := cmp.Diff([]int{1, 0, 0, 1, 1}, shown); diff != "" {
		t.Errorf("tools that were shown (-want +got):\n%s", diff)
	}
	req.NoCalls = false
	if _, err := m.Complete(t.Context(), req, nil); err != nil || len(offering(t, s.asked[5])) != 1 {
		t.Errorf("before the last call the tools are gone: %v", err)
	}
}

// Definitions go out unchanged, with any letters. A schema that is no JSON costs no
// request.
func TestDefinitionsOnTheWire(t *testing.T) {
	t.Parallel()
	m, _ := (&script{}).model(nil)
	sending := request{Request: llm.Request{Tools: []llm.Tool{
		{Name: "clock", Description: "tells <the> \"time\" é", Parameters: json.RawMessage(`{"type":"object", "b":1.50e3,"a":"&"}`)}, {Name: "bare"},
	}}}
	const (
		described = `"description":"tells \u003cthe\u003e \"time\" é","name":"clock","parameters":{"type":"object","b":1.50e3,"a":"\u0026"}`
		bare      = `"name":"bare","parameters":{"type":"object","properties":{}}`
	)
	for want, r := range map[string]any{
		`"tools":[{"function":{"name":"clock","description":"tells \u003cthe\u003e \"time\" é","parameters":{"type":"object","b":1.50e3,"a":"\u0026"}},"type":"function"},{"function":{` + bare + `},"type":"function"}]`: m.chatRequest(sending, true),
		`"tools":[{` + described + `,"strict":false,"type":"function"},{"description":"",` + bare + `,"strict":false,"type":"function"}]`:                                                                                 m.responsesRequest(sending),
	} {
		if got, err := json.Marshal(r); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s, %v\nwant %s", got, err, want)
		}
	}
	s := &script{serve: []served{{body: good}}}
	m, _ = s.model(nil)
	sending.Tools[0].Parameters = json.RawMessage(`{`)
	if _, err := m.Complete(t.Context(), sending.Request, nil); err == nil || len(s.asked) > 0 {
		t.Errorf("a schema that is no JSON went out: %v", err)
	}
}
