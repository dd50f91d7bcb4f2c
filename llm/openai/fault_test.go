package openai

import (
	"strings"
	"testing"

	"nod/llm"
)

func TestFault(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   llm.Fault
		text   string
	}{
		{"wrong key", 401, `{"error":{"message":"Incorrect API key provided: sk-ab***yz.","code":"invalid_api_key"}}`, llm.Auth, "Incorrect API key provided: [key]."},
		{"no rights", 403, `{"error":{"message":"Project has no access"}}`, llm.Auth, "Project has no access"},
		{"wrong key, Gemini", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, llm.Auth, "API key not valid. Please pass a valid API key."},
		{"no money", 402, `{"error":{"message":"Insufficient credits","code":402}}`, llm.Refused, "Insufficient credits"},
		{"too long", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`, llm.TooLong, "This model's maximum context length is 8192 tokens."},
		{"too long, by code", 400, `{"error":{"message":"no","code":"context_length_exceeded"}}`, llm.TooLong, "no"},
		{"too long, llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, llm.TooLong, "the request exceeds the available context size"},
		{"too long, Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144","type":"invalid_request_error"}}`, llm.TooLong, "Invalid request: Your request exceeded model token limit: 262144"},
		{"too long, Z.ai", 400, `{"error":{"code":"1261","message":"tokens in request more than max tokens allowed"}}`, llm.TooLong, "tokens in request more than max tokens allowed"},
		{"too long, Copilot", 400, `{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, llm.TooLong, "prompt token count of 130000 exceeds the limit of 128000"},
		{"too long, TGI", 422, `{"error":{"message":"Input validation error: inputs tokens + max_new_tokens must be <= 4097. Given: 6000 inputs tokens and 512 max_new_tokens"}}`, llm.TooLong, "Input validation error: inputs tokens + max_new_tokens must be <= 4097. Given: 6000 inputs tokens and 512 max_new_tokens"},
		{"too long, Anthropic", 400, `{"error":{"message":"input length and max_tokens exceed context limit: 199759 + 20000 > 200000"}}`, llm.TooLong, "input length and max_tokens exceed context limit: 199759 + 20000 > 200000"},
		{"too long, Cohere", 400, `{"message":"too many tokens: total number of tokens in the prompt exceeds the limit of 4081."}`, llm.TooLong, "too many tokens: total number of tokens in the prompt exceeds the limit of 4081."},
		{"too long, DashScope", 400, `{"error":{"message":"Range of input length should be [1, 30720]"}}`, llm.TooLong, "Range of input length should be [1, 30720]"},
		{"too long, TGI, of the inputs alone", 422, "{\"error\":\"Input validation error: `inputs` must have less than 1024 tokens. Given: 1500\",\"error_type\":\"validation\"}", llm.TooLong, "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500"},
		{"too long, Yandex", 400, `{"error":{"message":"number of input tokens must be no more than 8192, got 9000"}}`, llm.TooLong, "number of input tokens must be no more than 8192, got 9000"},
		{"too long, vLLM with pictures", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that max_model_len is no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends on the number of images."}}`, llm.TooLong, "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that max_model_len is no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends on the number of images."},
		{"too long, SGLang", 400, `{"object":"error","message":"Input length (12345 tokens) exceeds the maximum allowed length (4096 tokens). Use a shorter input or enable --allow-auto-truncate.","code":400}`, llm.TooLong, "Input length (12345 tokens) exceeds the maximum allowed length (4096 tokens). Use a shorter input or enable --allow-auto-truncate."},
		{"too long, watsonx", 400, `{"errors":[{"code":"invalid_input_argument","message":"the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"}]}`, llm.TooLong, "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"},
		{"too long, a minute's tokens in one request", 429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000.","type":"tokens","code":"rate_limit_exceeded"}}`, llm.TooLong, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 41000."},
		{"a long id is not too long a prompt", 400, `{"error":{"message":"Invalid 'input[3].call_id': string too long.","param":"input[3].call_id","code":"string_above_max_length"}}`, llm.Refused, "Invalid 'input[3].call_id': string too long."},
		{"a long message is", 400, `{"error":{"message":"Invalid 'messages[1].content': string too long.","param":"messages[1].content","code":"string_above_max_length"}}`, llm.TooLong, "Invalid 'messages[1].content': string too long."},
		{"many pixels are not too long a prompt", 400, `{"error":{"message":"messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}`, llm.Refused, "messages.0.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"},
		{"too long, a plain sentence", 400, `{"error":{"message":"The prompt is larger than this model can take"}}`, llm.TooLong, "The prompt is larger than this model can take"},
		{"a long name is not too long a prompt", 400, `{"error":{"message":"Invalid 'tools[0].function.name': too long, the length must be at most 64"}}`, llm.Refused, "Invalid 'tools[0].function.name': too long, the length must be at most 64"},
		{"too long, a body", 413, ``, llm.TooLong, "413 Request Entity Too Large"},
		{"filtered, Azure", 400, `{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.Filtered, "The response was filtered"},
		{"filtered, OpenRouter", 403, `{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["x"]}}}`, llm.Filtered, "Your input was flagged"},
		{"filtered, Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, llm.Filtered, "Output blocked by content filtering policy"},
		{"filtered, DeepSeek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, llm.Filtered, "Content Exists Risk"},
		{"filtered, DashScope", 400, `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}`, llm.Filtered, "Input data may contain inappropriate content."},
		{"filtered, xAI", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}`, llm.Filtered, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"},
		{"no money, Moonshot", 429, `{"error":{"message":"Your account is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, llm.Refused, "Your account is suspended, please check your plan and billing details"},
		{"no money, Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, llm.Refused, "Your credit balance is too low to access the Anthropic API."},
		{"no money, xAI", 429, `{"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}`, llm.Refused, "Your team has either used all available credits or reached its monthly spending limit."},
		{"no model", 404, `{"error":{"message":"The model x does not exist","code":"model_not_found"}}`, llm.Refused, "The model x does not exist"},
		{"messages in a list", 400, `{"error":{"message":["a","b"]}}`, llm.Refused, "a"},
		{"nothing said", 400, ``, llm.Refused, "400 Bad Request"},
		{"a text", 400, "bad\nrequest\x1b[31m", llm.Refused, "bad request [31m"},
		{"a page", 404, "<html><body>nginx</body></html>", llm.Refused, "an HTML page"},
		{"tags in a message", 400, `{"message":"<b>no</b> <script>"}`, llm.Refused, "no"},
		{"long", 400, `{"message":"` + strings.Repeat("é ", 1000) + `"}`, llm.Refused, strings.Repeat("é ", 149) + "é…"},
		{"nested without end", 400, strings.Repeat(`{"error":`, 1000) + `"x"` + strings.Repeat(`}`, 1000), llm.Refused, strings.Repeat(`{"error":`, 34)[:messageCap-1] + "…"},
		{"a redirect to nowhere", 300, ``, llm.Refused, "300 Multiple Choices"},
	}
	for _, tt := range tests {
		for _, stream := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				s := &script{serve: []served{{status: tt.status, body: tt.body}}}
				m, _ := s.model(func(o *Options) { o.Stream = stream })
				_, err := m.Complete(t.Context(), hi, nil)
				e := fault(t, err)
				if e.Fault != tt.want || e.Message != tt.text || e.Status != tt.status {
					t.Errorf("error %+v, want %s, %q", *e, tt.want, tt.text)
				}
				if len(s.asked) != 1 {
					t.Errorf("%d requests, want 1", len(s.asked))
				}
			})
		}
	}
}

// TestCode: the log may say a provider's code, which is one word and holds nothing that
// anybody wrote.
func TestCode(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"m","type":"invalid_request_error","code":"model_not_found"}}`: "model_not_found",
		`{"error":{"message":"m","type":"insufficient_quota","code":null}}`:                 "insufficient_quota",
		`{"object":"error","message":"m","type":"BadRequestError","code":400}`:              "BadRequestError",
		`{"error":{"message":"m","code":"a text that somebody wrote"}}`:                     "",
		`{"error":{"message":"m","code":402}}`:                                              "",
		`no JSON`:                                                                           "",
	} {
		s := &script{serve: []served{{status: 400, body: body}}}
		m, _ := s.model(nil)
		_, err := m.Complete(t.Context(), hi, nil)
		if got := fault(t, err).Code; got != want {
			t.Errorf("%s: code %q, want %q", body, got, want)
		}
	}
}

// TestMisspoke: a call that Groq could not read is repeated once, with any status.
func TestMisspoke(t *testing.T) {
	s := &script{serve: []served{{status: 400, body: `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=f>"}}`}, {body: good}}}
	m, _ := s.model(nil)
	if r, err := m.Complete(t.Context(), hi, nil); err != nil || r.Text != "ok" {
		t.Errorf("%+v, %v", r, err)
	}
}
