package openai

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
)

// sse writes events as a server does.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

const (
	stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	done = "[DONE]"
)

func TestStream(t *testing.T) {
	ok := llm.Response{Text: "ok", Finish: "stop"}
	call := func(id, name, args string) llm.Call { return llm.Call{ID: id, Name: name, Args: args} }
	calls := func(c ...llm.Call) llm.Response { return llm.Response{Calls: c, Finish: "tool_calls"} }
	tests := []struct {
		name string
		body string
		want llm.Response
	}{
		{"plain", sse(delta(`{"content":"o"}`), delta(`{"content":"k"}`), stop, done), ok},
		{"finish without DONE", sse(delta(`{"content":"ok"}`), stop), ok},
		{"DONE without finish", sse(delta(`{"content":"ok"}`), done), ok},
		{"no blank lines, CRLF, no space", "data:" + delta(`{"content":"ok"}`) + "\r\ndata:" + stop + "\r\ndata:[DONE]\r\n", ok},
		{"no newline at the end", strings.TrimSpace(sse(delta(`{"content":"ok"}`), stop)), ok},
		{"data over several lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"ok\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", ok},
		{"byte order mark", "\ufeff" + sse(delta(`{"content":"ok"}`), stop), ok},
		{"1000 comments and blank lines", sse(delta(`{"content":"o"}`)) + strings.Repeat(": keep-alive\n\n\n", 1000) + sse(delta(`{"content":"k"}`), stop, done), ok},
		{"comments first, ids and names", ": OPENROUTER PROCESSING\n\nevent: message\nid: 1\nretry: 10\n" + sse(delta(`{"content":"ok"}`), stop, done), ok},
		{"a ping among the events", sse(`{"type":"ping"}`, delta(`{"content":"ok"}`), stop, done), ok},
		{"a whole answer instead of a stream", "\n \n" + `{"choices":[` + "\n" + `{"message":{"content":"ok"},"finish_reason":"stop"}]}`, ok},
		{"another choice is left alone", sse(delta(`{"content":"ok"}`), `{"choices":[{"index":1,"delta":{"content":"no"}}]}`, stop), ok},
		{"odd types around the answer", sse(`{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":null}],"x_groq":"?","usage":null}`, stop), ok},
		{"a refusal is the answer", sse(delta(`{"refusal":"ok"}`), stop), ok},
		{
			"content in parts", sse(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), delta(`{"content":[{"type":"text","text":"ok"}]}`), stop),
			llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"},
		},
		{
			"the model's name", sse(`{"model":"`+strings.Repeat("m", 200)+`","choices":[]}`, `{"model":7,"choices":[]}`, delta(`{"content":"ok"}`), stop),
			llm.Response{Text: "ok", Finish: "stop", Model: strings.Repeat("m", 100)},
		},
		{"reasoning_content", sse(delta(`{"reasoning_content":"h"}`), delta(`{"reasoning_content":"m"}`), delta(`{"content":"ok"}`), stop), llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"}},
		{"reasoning", sse(delta(`{"reasoning":"hm","content":""}`), delta(`{"content":"ok"}`), stop), llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"}},
		{"both, the same", sse(delta(`{"reasoning":"hm","reasoning_content":"hm"}`), delta(`{"content":"ok"}`), stop), llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"}},
		{
			"thoughts in the content", sse(delta(`{"content":"\n<th"}`), delta(`{"content":"ink>\nh"}`), delta(`{"content":"m</thi"}`), delta(`{"content":"nk>\n\n"}`), delta(`{"content":"ok"}`), stop),
			llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"},
		},
		{"thoughts that only end", sse(delta(`{"content":"h"}`), delta(`{"content":"m</think>\n"}`), delta(`{"content":"ok"}`), stop), llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"}},
		{"thoughts apart, and their end in the content", sse(delta(`{"reasoning_content":"hm"}`), delta(`{"content":"</think>\n\nok"}`), stop), llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"}},
		{"channels in the content", sse(delta(`{"content":"<|channel|>analysis<|message|>hm<|end|><|start|>assi"}`), delta(`{"content":"stant<|channel|>final<|message|>ok"}`), stop), llm.Response{Text: "ok", Reasoning: "hm", Finish: "stop"}},
		{"length", sse(delta(`{"content":"ok"}`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`), llm.Response{Text: "ok", Finish: "length"}},
		{"the context is full", sse(delta(`{"content":"ok"}`), `{"choices":[{"delta":{},"finish_reason":"model_context_window_exceeded"}]}`), llm.Response{Text: "ok", Finish: "length"}},
		{"filtered, Gemini", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"content_filter: PROHIBITED_CONTENT"}]}`), llm.Response{Text: "ok", Finish: "content_filter"}},
		{"filtered, Bedrock", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"guardrail_intervened"}]}`), llm.Response{Text: "ok", Finish: "content_filter"}},
		{"filtered, in capitals", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"RECITATION"}]}`), llm.Response{Text: "ok", Finish: "content_filter"}},
		{"too long, in one word", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"max_output_tokens"}]}`), llm.Response{Text: "ok", Finish: "length"}},
		{"filtered, Z.ai", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"sensitive"}]}`), llm.Response{Text: "ok", Finish: "content_filter"}},
		{"filtered in the middle", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"content_filter"}]}`), llm.Response{Text: "ok", Finish: "content_filter"}},
		{
			"usage at the end", sse(delta(`{"content":"ok"}`), stop, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5.0,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}`, done),
			llm.Response{Text: "ok", Finish: "stop", Usage: llm.Usage{Prompt: 10, Cached: 4, Completion: 5, Reasoning: 3}},
		},
		{"usage that counts reasoning apart", sse(delta(`{"content":"ok"}`), stop, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":18,"completion_tokens_details":{"reasoning_tokens":3}}}`), llm.Response{Text: "ok", Finish: "stop", Usage: llm.Usage{Prompt: 10, Completion: 8, Reasoning: 3}}},
		{
			"usage of DeepSeek and Groq", sse(delta(`{"content":"ok"}`), `{"choices":[{"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":10,"prompt_cache_hit_tokens":6,"completion_tokens":1,"prompt_tokens_details":null}}}`),
			llm.Response{Text: "ok", Finish: "stop", Usage: llm.Usage{Prompt: 10, Cached: 6, Completion: 1}},
		},

		{"a call in pieces", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), stop), calls(call("a", "f", `{"x":1}`))},
		{"two calls, pieces mixed", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}},{"index":1,"id":"b","function":{"name":"g"}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}},{"index":0,"function":{"arguments":"[]"}}]}`), stop), calls(call("a", "f", `[]`), call("b", "g", `{}`))},
		{"no index, ids in every piece", sse(delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}},{"id":"b","function":{"name":"f","arguments":"{"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"arguments":"}"}},{"id":"a","function":{"arguments":" }"}}]}`), stop), calls(call("a", "f", `{ }`), call("b", "f", `{}`))},
		{"no index, id only at first", sse(delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`), delta(`{"tool_calls":[{"function":{"arguments":"}"}}]}`),
			delta(`{"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}`), stop), calls(call("a", "f", `{}`), call("b", "f", `{}`))},
		{
			"index 0 for all, other ids", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}`), stop),
			calls(call("a", "f", `{}`), call("b", "f", `{}`)),
		},
		{
			"index 0 for all, other ids, the first without arguments", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}`), delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}`), stop),
			calls(call("a", "f", ``), call("b", "f", `{}`)),
		},
		{
			"index 0 for all, no ids", sse(delta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), stop),
			calls(call("new1", "f", `{}`), call("new2", "f", `{"x":1}`)),
		},
		{
			"neither index nor ids, one delta", sse(delta(`{"tool_calls":[{"function":{"name":"f"}},{"function":{"name":"f"}},{"function":{"name":"g","arguments":"{}"}}]}`), stop),
			calls(call("new1", "f", ``), call("new2", "f", ``), call("new3", "g", `{}`)),
		},
		{
			"the same id twice", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}]}`), stop),
			calls(call("a", "f", `{}`), call("new1", "g", `{}`)),
		},
		{
			"name and id in every piece", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}]}`), stop),
			calls(call("a", "f", `{"x":1}`)),
		},
		{
			"an empty object first, with the name again", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), stop),
			calls(call("a", "f", `{}{"x":1}`)),
		},
		{"a new id in every piece", sse(delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}`), delta(`{"tool_calls":[{"id":"b","function":{"arguments":"}"}}]}`), stop), calls(call("a", "f", `{}`))},
		{"arguments that are no string", sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 1}}}]}`), stop), calls(call("a", "f", `{"x":1}`))},
		{"a call without a name", sse(delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`), stop), calls(call("new1", nameless, `{}`))},
		{"an empty call is none", sse(delta(`{"content":"ok","tool_calls":[{"index":0,"function":{}}]}`), stop), ok},
		{"the connection breaks after the end", sse(delta(`{"content":"ok"}`), stop) + "data: {\"choi", ok},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{serve: []served{{body: tt.body}}}
			m, _ := s.model(nil)
			var watched llm.Response
			got, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
				if d.Reset {
					watched = llm.Response{}
				}
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

// TestThoughtsWithoutOpening has a model whose template opens the thoughts: what was shown
// of the first is taken back, and from then on text waits until it is sure to be an answer.
func TestThoughtsWithoutOpening(t *testing.T) {
	thinks := served{body: sse(delta(`{"content":"secret"}`), delta(`{"content":" plan</think>"}`), delta(`{"content":"ok"}`), stop)}
	s := &script{serve: []served{thinks, thinks, {body: sse(delta(`{"content":"fine"}`), stop)}}}
	m, _ := s.model(nil)
	for i, want := range []string{"secret| plan|RESET|(secret plan)|ok|", "(secret plan)|ok|", "fine|"} {
		var heard string
		if _, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
			switch {
			case d.Reset:
				heard += "RESET|"
			case d.Reasoning != "":
				heard += "(" + d.Reasoning + ")|"
			default:
				heard += d.Text + "|"
			}
		}); err != nil {
			t.Fatal(err)
		}
		if heard != want {
			t.Errorf("call %d: heard %q, want %q", i+1, heard, want)
		}
	}
}

// TestStreamFails has bodies under status 200 that are no answer.
func TestStreamFails(t *testing.T) {
	half := sse(delta(`{"content":"o"}`))
	tests := []struct {
		name  string
		serve served
		want  llm.Error
		again bool
	}{
		{"cut off", served{body: half}, llm.Error{Fault: llm.Unreachable, Message: "the answer ended in the middle"}, true},
		{"connection lost", served{body: half, tail: io.ErrUnexpectedEOF}, llm.Error{Fault: llm.Unreachable, Message: "the answer ended in the middle"}, true},
		{"nothing", served{}, llm.Error{Fault: llm.Unreachable, Message: "the answer ended in the middle"}, true},
		{"only DONE", served{body: sse(done)}, llm.Error{Fault: llm.Malformed, Message: "an answer with nothing in it"}, true},
		{"no JSON", served{body: half + "data: {\"choices\":[\n\n"}, llm.Error{Fault: llm.Malformed, Message: "an event that is no JSON"}, true},
		{"an error page", served{body: "<html><head><title>Welcome to the café</title></head></html>"}, llm.Error{Fault: llm.Malformed, Message: "an HTML page: Welcome to the café"}, true},
		{"half an answer is not repeated", served{body: `{"choices":[{"message":{"content":"secret`}, llm.Error{Fault: llm.Malformed, Message: "an answer that is no JSON"}, true},
		{"finish error", served{body: sse(`{"choices":[{"delta":{"content":"x"},"finish_reason":"error"}]}`)}, llm.Error{Fault: llm.Unreachable, Message: "the provider gave up in the middle"}, true},
		{"finish abort, vLLM and SGLang", served{body: sse(`{"choices":[{"delta":{"content":"x"},"finish_reason":null}]}`, `{"choices":[{"delta":{},"finish_reason":"abort"}]}`, done)}, llm.Error{Fault: llm.Unreachable, Message: "the provider gave up in the middle"}, true},
		{"broken off upstream, OpenRouter", served{body: sse(`{"choices":[{"delta":{"content":""},"finish_reason":"stop","native_finish_reason":"network_error"}]}`)}, llm.Error{Fault: llm.Unreachable, Message: "the provider gave up in the middle"}, true},
		{"a call that Gemini did not expect", served{body: sse(`{"choices":[{"delta":{},"finish_reason":"function_call_filter: UNEXPECTED_TOOL_CALL"}]}`)}, llm.Error{Fault: llm.Malformed, Message: "a call that its server can't read"}, true},
		{"a call that Gemini can't read", served{body: sse(`{"choices":[{"delta":{},"finish_reason":"function_call_filter: MALFORMED_FUNCTION_CALL"}]}`)}, llm.Error{Fault: llm.Malformed, Message: "a call that its server can't read"}, true},
		{"finish network_error, Z.ai", served{body: sse(`{"choices":[{"delta":{"content":"x"},"finish_reason":"network_error"}]}`)}, llm.Error{Fault: llm.Unreachable, Message: "the provider gave up in the middle"}, true},

		{"filtered as a whole", served{body: sse(`{"choices":[{"delta":{"role":"assistant","content":""}}]}`, `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, done)}, llm.Error{Fault: llm.Filtered, Message: "there is nothing left of the answer"}, false},
		{"filtered as a whole, in one", served{body: `{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]}`}, llm.Error{Fault: llm.Filtered, Message: "there is nothing left of the answer"}, false},
		{"error first in its line", served{body: half + sse(`{"error":{"message":"m","code":502}}`)}, llm.Error{Fault: llm.Unreachable, Status: 502, Message: "m"}, true},
		{"error further on", served{body: half + sse(`{"id":"x","error":{"message":"m","code":"502"},"choices":[{"delta":{},"finish_reason":"error"}]}`)}, llm.Error{Fault: llm.Unreachable, Status: 502, Message: "m"}, true},
		{"error is a text", served{body: half + sse(`{"error":"out of memory"}`)}, llm.Error{Fault: llm.Unreachable, Status: 500, Message: "out of memory"}, true},
		{"error without a message", served{body: half + sse(`{"error":{"type":"overloaded_error"}}`)}, llm.Error{Fault: llm.Overloaded, Status: 429, Message: "429 Too Many Requests"}, true},
		{"spaces in the way", served{body: half + sse(` { "error" : { "message" : "m" } }`)}, llm.Error{Fault: llm.Unreachable, Status: 500, Message: "m"}, true},
		{"error by its name", served{body: half + "event: error\ndata: {\"message\":\"m\",\"status_code\":400}\n\n"}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}, false},
		{"error by its name, a text", served{body: half + "event: error\ndata: went wrong\n\n"}, llm.Error{Fault: llm.Unreachable, Status: 500, Message: "went wrong"}, true},
		{"vLLM", served{body: half + sse(`{"object":"error","message":"m","type":"BadRequestError","code":400}`)}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}, false},
		{"Anthropic", served{body: half + sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}, llm.Error{Fault: llm.Overloaded, Status: 429, Message: "Overloaded"}, true},
		{"a call that Groq can't read", served{body: half + sse(`{"error":{"message":"m","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}`)}, llm.Error{Fault: llm.Malformed, Status: 400, Message: "m"}, true},
		{"FastAPI", served{body: half + sse(`{"detail":[{"loc":["body","x"],"msg":"m"}]}`)}, llm.Error{Fault: llm.Unreachable, Status: 500, Message: "m"}, true},
		{"without data", served{body: half + `{"error":{"message":"m","code":503}}` + "\n"}, llm.Error{Fault: llm.Unreachable, Status: 503, Message: "m"}, true},
		{"without a stream", served{body: `{"error":{"message":"m","code":"rate_limit_exceeded"}}`}, llm.Error{Fault: llm.Overloaded, Status: 429, Message: "m"}, true},
		{"over several lines", served{body: "{\n  \"error\": {\n    \"message\": \"m\", \"type\": \"invalid_request_error\"\n  }\n}\n"}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}, false},
		{"in a choice", served{body: sse(`{"choices":[{"delta":{},"error":{"message":"m","code":400}}]}`)}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}, false},
		{"too long, said late", served{body: half + sse(`{"error":{"message":"maximum context length is 10"}}`)}, llm.Error{Fault: llm.TooLong, Status: 400, Message: "maximum context length is 10"}, false},
		{"Google, a list", served{body: `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`}, llm.Error{Fault: llm.Refused, Status: 400, Message: "m"}, false},
	}
	for _, tt := range tests {
		for _, stream := range []bool{true, false} {
			if !stream && !strings.HasPrefix(strings.TrimSpace(tt.serve.body), "{") && !strings.HasPrefix(tt.serve.body, "[") && !strings.HasPrefix(tt.serve.body, "<") {
				continue // a stream
			}
			name := tt.name
			if !stream {
				name += ", not streaming"
			}
			t.Run(name, func(t *testing.T) {
				s := &script{serve: []served{tt.serve}}
				m, _ := s.model(func(o *Options) { o.Stream = stream })
				_, err := m.Complete(t.Context(), hi, nil)
				got := fault(t, err)
				got.Code = "" // see TestCode
				if diff := cmp.Diff(&tt.want, got); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				want := 1
				if tt.again {
					want += restarts
				}
				if len(s.asked) != want {
					t.Errorf("%d requests, want %d", len(s.asked), want)
				}
			})
		}
	}
}

// TestBegunAgain breaks a stream twice. The watcher is told to forget the earlier
// pieces, and the third answer counts. A tool call is reported as it begins.
func TestBegunAgain(t *testing.T) {
	s := &script{serve: []served{
		{body: sse(delta(`{"content":"one"}`), delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}`)), tail: errors.New("reset by peer")},
		{body: sse(delta(`{"content":"two"}`), `{"error":{"message":"m","code":502}}`)},
		{body: good},
	}}
	m, waits := s.model(nil)
	var heard []llm.Delta
	r, err := m.Complete(t.Context(), hi, func(d llm.Delta) { heard = append(heard, d) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(llm.Response{Text: "ok", Finish: "stop"}, r); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
	pause := func(d time.Duration) llm.Delta { return llm.Delta{Pause: &llm.Pause{Fault: llm.Unreachable, For: d}} }
	over := llm.Delta{Pause: &llm.Pause{}}
	want := []llm.Delta{
		{Text: "one"}, {Calls: true}, pause((*waits)[0]), over, {Reset: true}, {Text: "two"}, pause((*waits)[1]), over, {Reset: true}, {Text: "ok"},
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
	if len(*waits) != 2 {
		t.Errorf("waits %v, want 2", *waits)
	}
}

// TestNameInPieces: a name may come in pieces, as arguments do. A complete name begins
// another call.
func TestNameInPieces(t *testing.T) {
	piece := func(name, args string) string {
		return delta(`{"tool_calls":[{"index":0,"function":{"name":"` + name + `","arguments":"` + args + `"}}]}`)
	}
	tests := map[string]struct {
		events []string
		want   []string
	}{
		"two pieces":                  {[]string{piece("restart_", ""), piece("service", ""), piece("", "{}")}, []string{"restart_service"}},
		"many pieces":                 {[]string{piece("re", ""), piece("start", ""), piece("_serv", ""), piece("ice", "{}")}, []string{"restart_service"}},
		"a tool, and another":         {[]string{piece("restart", ""), piece("clock", "{}")}, []string{"restart", "clock"}},
		"pieces, and another":         {[]string{piece("res", ""), piece("tart", ""), piece("clock", "{}")}, []string{"restart", "clock"}},
		"no tool, and no part of one": {[]string{piece("nothing", ""), piece("like", "{}")}, []string{"nothing", "like"}},
		"behind arguments":            {[]string{piece("restart_", "{}"), piece("service", "{}")}, []string{"restart_", "service"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := &script{serve: []served{{body: sse(append(tt.events, stop)...)}}}
			m, _ := s.model(nil)
			req := hi
			req.Tools = []llm.Tool{{Name: "restart"}, {Name: "restart_service"}, {Name: "clock"}}
			r, err := m.Complete(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range r.Calls {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzStream looks for panics and hangs, for calls that break the promises of
// llm.Call, and for an answer that differs from what was watched.
func FuzzStream(f *testing.F) {
	f.Add(good)
	f.Add(goodWhole)
	f.Add(sse(delta(`{"content":"<think>a</think>","reasoning":"b"}`), `{"error":{"code":400}}`))
	f.Add(": c\nevent: error\ndata: x\n\ndata: {\ndata: }\n{\"error\":1}\n<html>")
	f.Add(sse(delta(`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"function":{"arguments":{}}}]}`), stop))
	f.Add(sse(`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"f"}}`, `{"type":"response.completed","response":{"status":"completed"}}`))
	f.Fuzz(func(t *testing.T, body string) {
		for _, known := range []limits{0, noStream, unopened, needsResponses, needsResponses | noStream} {
			s := &script{serve: []served{{body: body}}}
			m, _ := s.model(nil)
			m.known = known
			var watched string
			r, err := m.Complete(t.Context(), hi, func(d llm.Delta) {
				if d.Reset {
					watched = ""
				}
				watched += d.Text
			})
			if err != nil {
				if e := fault(t, err); len([]rune(e.Message)) > messageCap {
					t.Errorf("message of %d bytes", len(e.Message))
				}
				continue
			}
			if known&needsResponses == 0 && watched != r.Text {
				t.Errorf("watched %q, answer %q", watched, r.Text)
			}
			seen := map[string]bool{"": true}
			for _, c := range r.Calls {
				if c.Name == "" || seen[c.ID] {
					t.Errorf("call %+v", c)
				}
				seen[c.ID] = true
			}
		}
	})
}
