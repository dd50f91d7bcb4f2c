package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
)

const (
	outText = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}`
	outCall = `{"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{\"x\":1}"}`
	outHm   = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}]}`
	tokens  = `"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":15}`
)

func completed(output string) string {
	return `{"type":"response.completed","response":{"object":"response","status":"completed","error":null,"incomplete_details":null,"output":[` + output + `],` + tokens + `}}`
}

func TestResponses(t *testing.T) {
	counted := llm.Usage{Prompt: 10, Cached: 4, Completion: 5, Reasoning: 3}
	tests := []struct {
		name  string
		body  string
		whole bool
		want  llm.Response
	}{
		{
			"an answer", sse(`{"type":"response.created","response":{"object":"response","status":"in_progress"}}`, `{"type":"response.reasoning_summary_text.delta","delta":"hm"}`,
				`{"type":"response.output_text.delta","delta":"o"}`, `{"type":"response.output_text.delta","delta":"k"}`, completed(outHm+","+outText)), false,
			llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop", Usage: counted},
		},
		{
			"calls", sse(completed(outCall + "," + outCall)), false,
			llm.Response{Calls: []llm.Call{{ID: "a", Name: "f", Args: `{"x":1}`}, {ID: "new1", Name: "f", Args: `{"x":1}`}}, Finish: "tool_calls", Usage: counted},
		},
		{
			"items only as they came", sse(`{"type":"response.output_item.done","item":`+outCall+`}`, completed("")), false,
			llm.Response{Calls: []llm.Call{{ID: "a", Name: "f", Args: `{"x":1}`}}, Finish: "tool_calls", Usage: counted},
		},
		{
			"cut short", sse(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + outText + `]}}`), false,
			llm.Response{Text: "ok", Finish: "length"},
		},
		{
			"filtered", sse(`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[` + outText + `]}}`), false,
			llm.Response{Text: "ok", Finish: "content_filter"},
		},
		{
			"whole", `{"object":"response","model":"gpt-4.1-2025-04-14","status":"completed","error":null,"output":[` + outHm + "," + outText + `],` + tokens + `}`, true,
			llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop", Usage: counted, Model: "gpt-4.1-2025-04-14"},
		},
		{
			"a model that is no name", `{"object":"response","model":7,"status":"completed","output":[` + outText + `]}`, true,
			llm.Response{Text: "ok", Finish: "stop"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{serve: []served{{body: tt.body}}}
			m, _ := s.model(func(o *Options) { o.Stream = !tt.whole })
			m.known = needsResponses
			var watched llm.Response
			got, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
				watched.Text += d.Text
				watched.Reasoning += d.Reasoning
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if watched.Text != got.Text || watched.Reasoning != got.Reasoning {
				t.Errorf("watched %+v", watched)
			}
		})
	}
}

func TestResponsesFail(t *testing.T) {
	tests := []struct {
		name  string
		serve served
		want  llm.Error
	}{
		{"cut off", served{body: sse(`{"type":"response.output_text.delta","delta":"o"}`)}, llm.Error{Fault: llm.Unreachable, Message: "the answer ended in the middle"}},
		{"failed", served{body: sse(`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"m"}}}`)}, llm.Error{Fault: llm.Unreachable, Status: 500, Message: "m"}},
		{"rate", served{body: sse(`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"m"}}}`)}, llm.Error{Fault: llm.Overloaded, Status: 429, Message: "m"}},
		{"failed, silently", served{body: sse(`{"type":"response.failed","response":{"status":"failed"}}`)}, llm.Error{Fault: llm.Unreachable, Message: "the provider gave up in the middle"}},
		{"error event", served{body: "event: error\n" + sse(`{"type":"error","code":"invalid_request_error","message":"m"}`)}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}},
		{"an error instead", served{body: `{"error":{"message":"m","code":400}}`}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}},
		{"not there", served{status: 404, body: `404 page not found`}, llm.Error{Fault: llm.Refused, Status: 404, Message: "404 page not found", Where: "http://model.test/v1/responses"}},
		{"lost", served{err: errors.New("reset")}, llm.Error{Fault: llm.Unreachable, Message: "reset"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{serve: []served{tt.serve}}
			m, _ := s.model(nil)
			m.known = needsResponses
			_, err := m.Complete(t.Context(), hi, nil)
			got := fault(t, err)
			got.Code = "" // see TestCode
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResponsesRequest(t *testing.T) {
	s := &script{serve: []served{{body: sse(completed(outText))}}}
	m, _ := s.model(func(o *Options) { o.Temperature = ptr(0) })
	m.known = needsResponses
	_, err := m.Complete(t.Context(), llm.Request{
		Messages: []llm.Message{
			{Role: llm.System, Text: "be kind"},
			{Role: llm.User, Text: "look", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}},
			{Role: llm.Assistant, Text: "I look", Calls: []llm.Call{{ID: "a", Name: "clock"}}},
			{Role: llm.ToolRole, CallID: "a", Text: "noon"},
			{Role: llm.User, Text: "and?"},
		},
		Tools: []llm.Tool{{Name: "clock", Description: "tells the time"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(`{
		"model": "m", "stream": true, "store": false, "include": ["reasoning.encrypted_content"], "temperature": 0,
		"input": [
			{"role": "system", "content": "be kind"},
			{"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,eA=="}]},
			{"role": "assistant", "content": "I look"},
			{"type": "function_call", "call_id": "a", "name": "clock", "arguments": "{}"},
			{"type": "function_call_output", "call_id": "a", "output": "noon"},
			{"role": "user", "content": "and?"}
		],
		"tools": [{"type": "function", "name": "clock", "description": "tells the time", "parameters": {"type": "object", "properties": {}}, "strict": false}]
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, s.asked[0].body); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}
