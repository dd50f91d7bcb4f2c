package openai

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/llm"
)

// TestLimits refuses a call once for one of its fields. The call is repeated without
// the field, and the next call leaves it out at once.
func TestLimits(t *testing.T) {
	full := llm.Request{
		Messages: []llm.Message{{Role: llm.User, Text: "hi", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}}},
		Tools:    []llm.Tool{{Name: "f"}},
		Stop:     []string{"Observation:"},
	}
	answers := `{"object":"response","status":"completed","output":[{"type":"message","content":[{"text":"ok"}]}]}`
	tests := []struct {
		name   string
		model  string
		status int
		refuse string // the body of the first answer; empty: go-openai refuses by itself
		gone   []string
		path   string
	}{
		{"stop", "m", 400, `{"error":{"message":"Unsupported parameter: 'stop' is not supported with this model.","type":"invalid_request_error","param":"stop","code":"unsupported_parameter"}}`, []string{"stop"}, ""},
		{"temperature", "m", 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}`, []string{"temperature"}, ""},
		{"temperature, Moonshot", "m", 400, `{"error":{"message":"invalid temperature: only 1 is allowed for this model","type":"invalid_request_error"}}`, []string{"temperature"}, ""},
		{"temperature, Anthropic", "m", 400, "{\"error\":{\"message\":\"`temperature` may only be set to 1 when thinking is enabled.\"}}", []string{"temperature"}, ""},
		{"stop, xAI", "m", 400, `{"code":"Client specified an invalid argument","error":"Argument not supported on this model: stop"}`, []string{"stop"}, ""},
		{"top_p", "m", 400, `{"error":{"message":"Unsupported parameter: 'top_p' is not supported with this model.","param":"top_p"}}`, []string{"top_p"}, ""},
		{"one of two", "m", 400, "{\"error\":{\"message\":\"`temperature` and `top_p` cannot both be specified for this model. Please use only one.\"}}", []string{"top_p"}, ""},
		{"stream_options, Mistral", "m", 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}`, []string{"stream_options"}, ""},
		{"stream_options, a text", "m", 400, `unknown field "stream_options"`, []string{"stream_options"}, ""},
		{"stream_options, passed on", "m", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"Unrecognized request argument supplied: stream_options\"}"}}}`, []string{"stream_options"}, ""},
		{"stream_options, in the stream", "m", 200, `{"error":{"message":"unsupported: include_usage","code":400}}`, []string{"stream_options"}, ""},
		{"streaming", "m", 400, `{"error":{"message":"Your organization must be verified to stream this model.","param":"stream","code":"unsupported_value"}}`, []string{"stream", "stream_options"}, ""},
		{"images, OpenAI", "m", 400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`, []string{"image"}, ""},
		{"images, DeepSeek", "m", 422, "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text` at line 1 column 123\"}}", []string{"image"}, ""},
		{"images, LM Studio", "m", 400, `{"error":"Model does not support images. Please use a model that does."}`, []string{"image"}, ""},
		{"images, llama.cpp", "m", 500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, []string{"image"}, ""},
		{"streaming, in other words", "m", 400, `{"error":{"message":"Streaming responses are unsupported by this deployment"}}`, []string{"stream", "stream_options"}, ""},
		{"images", "m", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, []string{"image"}, ""},
		{"Chat Completions", "m", 404, `{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions.","param":"model"}}`, []string{"stop", "stream_options", "messages"}, "/v1/responses"},
		{"tools in Chat Completions", "m", 400, `{"error":{"message":"Function tools with reasoning_effort are not supported for m in /v1/chat/completions. Please use /v1/responses instead."}}`, []string{"stop", "stream_options", "messages"}, "/v1/responses"},
		{"go-openai: sampling", "gpt-5-mini", 0, "", []string{"temperature", "top_p"}, ""},
		{"go-openai: tools", "gpt-6-sol", 0, "", []string{"stop", "stream_options", "messages"}, "/v1/responses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{}
			first := 1
			if tt.refuse == "" {
				first = 0
			} else {
				s.serve = append(s.serve, served{status: tt.status, body: tt.refuse})
			}
			answer := goodWhole
			if tt.path != "" {
				answer = answers
			}
			s.serve = append(s.serve, served{body: answer})
			m, waits := s.model(func(o *Options) { o.Model, o.Temperature, o.TopP = tt.model, ptr(0.2), ptr(0) })
			for call := range 3 {
				r, err := m.Complete(t.Context(), full, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.Text != "ok" {
					t.Errorf("answer %q", r.Text)
				}
				if want := first + call + 1; len(s.asked) != want {
					t.Fatalf("%d requests after call %d, want %d", len(s.asked), call+1, want)
				}
			}
			if len(*waits) > 0 {
				t.Errorf("waited %v", *waits)
			}
			before := held(t, map[string]any{"model": "m", "messages": []any{}, "image": true, "stop": []any{}, "temperature": 0.2, "top_p": 0.0, "stream": true, "stream_options": nil, "tools": nil})
			for _, a := range s.asked[first:] {
				after := held(t, a.body)
				for _, g := range tt.gone {
					if after[g] {
						t.Errorf("%s was sent again", g)
					}
					delete(after, g)
				}
				for k := range before {
					if !slices.Contains(tt.gone, k) && !after[k] {
						t.Errorf("%s is gone too", k)
					}
				}
				if tt.path != "" && a.path != tt.path {
					t.Errorf("path %s, want %s", a.path, tt.path)
				}
			}
		})
	}
}

// held says what a request holds, with "image" for a picture anywhere and
// "stream" when it is true.
func held(t *testing.T, body map[string]any) map[string]bool {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for k, v := range body {
		out[k] = v != false
	}
	out["image"] = out["image"] || strings.Contains(string(raw), "data:image/png")
	return out
}

// TestNoLimit has refusals from which nothing must be learnt: the call is not
// made again, and the next one is as before.
func TestNoLimit(t *testing.T) {
	req := llm.Request{
		Messages: []llm.Message{{Role: llm.User, Text: "hi", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}}},
		Stop:     []string{"x"},
	}
	for _, body := range []string{
		`{"error":{"message":"temperature must be at most 2","param":"temperature","code":"invalid_value"}}`,
		`{"error":{"message":"This model does not support tools"}}`,
		`{"error":{"message":"The model does not exist","code":"model_not_found"}}`,
		`{"error":{"message":"unknown field \"foo\""}}`,
		`{"error":{"message":"Unsupported parameter","param":"top_p"}}`, // which was not sent
		`stop`,
	} {
		s := &script{serve: []served{{status: 400, body: body}}}
		m, _ := s.model(func(o *Options) { o.Temperature = ptr(0.2) })
		for range 2 {
			_, err := m.Complete(t.Context(), req, nil)
			if e := fault(t, err); e.Fault != llm.Refused {
				t.Errorf("%s: fault %v", body, e.Fault)
			}
		}
		if len(s.asked) != 2 || s.asked[0].raw != s.asked[1].raw || m.known != 0 {
			t.Errorf("%s: learnt %b in %d requests", body, m.known, len(s.asked))
		}
	}
}

// TestPictures has servers that refuse one picture. The call is made once more without it,
// and names it; other pictures are sent as before. Only a second refused picture, with none
// taken between, makes a model that takes none.
func TestPictures(t *testing.T) {
	ask := func(m *Model, names ...string) {
		t.Helper()
		req := llm.Request{}
		for _, name := range names {
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: "see " + name, Images: []llm.Image{{Name: name, MediaType: "image/png", Data: []byte("<" + name + ">")}}}, llm.Message{Role: llm.Assistant, Text: "ok"})
		}
		if _, err := m.Complete(t.Context(), req, nil); err != nil {
			t.Error(err)
		}
	}
	shows := func(a asked, name string) bool {
		return strings.Contains(a.raw, base64.StdEncoding.EncodeToString([]byte("<"+name+">")))
	}
	for _, body := range []string{
		`{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","param":null,"code":"image_parse_error"}}`,
		`{"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].","code":"invalid_image_format"}}`,
		`{"error":{"message":"validating vision content: image media type not supported","type":"invalid_request_error"}}`,
		`{"error":{"message":"Invalid image data. Animated images are not supported.","code":"BadRequest"}}`,
		`{"error":{"message":"Unsupported image format: only png and jpeg are supported"}}`,
		`{"error":{"message":"messages.1.content.1.image.source.base64: The image was specified using the image/png media type, but the image appears to be a image/jpeg image"}}`,
		`{"error":{"message":"Could not process image"}}`,
		`{"error":{"message":"Invalid MIME type. Only image types are supported."}}`,
		`{"error":{"message":"Request contains an invalid argument.","status":"INVALID_ARGUMENT"}}`,
		`{"error":{"message":"'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]"}}`,
		`{"detail":[{"type":"string_type","loc":["body","messages",0,"content"],"msg":"Input should be a valid string"}]}`,
		`{"error":{"message":"At most 1 image(s) may be provided in one prompt."}}`,
		`{"error":{"message":"messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}`,
		`{"error":{"message":"<400> InternalError.Algo.InvalidParameter: The image length and width do not meet the model restrictions. [height:4 or width:300 must be larger than 10]","code":"invalid_parameter_error"}}`,
		`{"error":{"message":"/models/m is not a multimodal model"}}`,
		`{"error":{"message":"illegal base64 data at input byte 0"}}`,
	} {
		s := &script{serve: []served{{status: 400, body: body}, {body: good}}}
		m, _ := s.model(nil)
		ask(m, "good.png", "broken.png")
		ask(m, "broken.png", "other.png")
		if len(s.asked) != 3 || m.known != 0 {
			t.Errorf("%s: %d requests, learnt %b", body, len(s.asked), m.known)
			continue
		}
		if a := s.asked[1]; shows(a, "broken.png") || !strings.Contains(a.raw, "The picture broken.png") || !shows(a, "good.png") {
			t.Errorf("%s: sent again: %s", body, a.raw)
		}
		if a := s.asked[2]; shows(a, "broken.png") || !shows(a, "other.png") {
			t.Errorf("%s: the next call: %s", body, a.raw)
		}
	}
	no := served{status: 400, body: `{"error":{"message":"Could not process image"}}`}
	s := &script{serve: []served{no, {body: good}, no, {body: good}}}
	m, _ := s.model(nil)
	for i, name := range []string{"a.png", "b.png", "c.png"} {
		ask(m, name)
		if want := []int{2, 4, 5}[i]; len(s.asked) != want {
			t.Errorf("%d requests after %s, want %d", len(s.asked), name, want)
		}
	}
	if shows(s.asked[4], "c.png") || !m.known.has(noImages) {
		t.Error("two pictures were refused, and a third is sent")
	}
	s = &script{serve: []served{no, no, {status: 400, body: `{"error":{"message":"no"}}`}}}
	m, _ = s.model(nil)
	_, err := m.Complete(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Images: []llm.Image{{Data: []byte("a")}}}, {Role: llm.User, Images: []llm.Image{{Data: []byte("b")}}}}}, nil)
	if e := fault(t, err); e.Fault != llm.Refused || len(s.asked) > 3 || len(m.refused) > 0 {
		t.Errorf("a call that is refused without pictures, too: %v after %d requests", e, len(s.asked))
	}
}

// TestDoubts has refusals of one call that name no model: the call is made without the
// field, and a second one learns.
func TestDoubts(t *testing.T) {
	no := served{status: 400, body: `{"error":{"message":"stop is not supported here"}}`}
	req := llm.Request{Messages: hi.Messages, Stop: []string{"x"}}
	s := &script{serve: []served{no, {body: good}, {body: good}, no, {body: good}, no, {body: good}, {body: good}}}
	m, _ := s.model(nil)
	for i, want := range []int{2, 3, 5, 7, 8} {
		if _, err := m.Complete(t.Context(), req, nil); err != nil || len(s.asked) != want {
			t.Fatalf("call %d: %d requests, %v", i+1, len(s.asked), err)
		}
	}
}

// TestSeveralLimits learns one thing after the other.
func TestSeveralLimits(t *testing.T) {
	no := func(param string) served {
		return served{status: 400, body: `{"error":{"message":"Unsupported parameter","param":"` + param + `"}}`}
	}
	s := &script{serve: []served{no("stop"), no("temperature"), no("stream_options"), no("stop")}}
	m, _ := s.model(func(o *Options) { o.Temperature = ptr(1) })
	_, err := m.Complete(t.Context(), llm.Request{Messages: hi.Messages, Stop: []string{"x"}}, nil)
	if e := fault(t, err); e.Fault != llm.Refused || len(s.asked) != 4 {
		t.Errorf("error %v after %d requests, want refused after 4: the last refusal names what was not sent", e, len(s.asked))
	}
}

// TestStopWords are minded here where the model does not.
func TestStopWords(t *testing.T) {
	s := &script{serve: []served{{body: sse(delta(`{"content":"Action: f\nObservation: made up"}`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`)}}}
	m, _ := s.model(nil)
	r, err := m.Complete(t.Context(), llm.Request{Messages: hi.Messages, Stop: []string{"", "\nObservation:"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(llm.Response{Text: "Action: f", Finish: "stop"}, r); diff != "" {
		t.Errorf("response (-want +got):\n%s", diff)
	}
}

// TestCacheKey is sent to OpenAI alone, and is one for a thread.
func TestCacheKey(t *testing.T) {
	keys := map[any]bool{}
	for _, tt := range []struct {
		url, thread string
		sent        bool
	}{{"", "a", true}, {"", "a", true}, {"", "b", true}, {"https://x.openai.azure.com/openai/v1", "b", true}, {"", "", false}, {"http://model.test/v1", "a", false}} {
		s := &script{serve: []served{{body: good}}}
		m, _ := s.model(func(o *Options) { o.BaseURL = tt.url })
		req := hi
		req.Fair = tt.thread
		if _, err := m.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		key := s.asked[0].body["prompt_cache_key"]
		if (key != nil) != tt.sent {
			t.Errorf("%+v: key %v", tt, key)
		}
		keys[key] = true
	}
	if len(keys) != 3 { // of two threads, and none
		t.Errorf("keys %v", keys)
	}
}
