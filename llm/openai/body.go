package openai

import (
	"encoding/json"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

// chatBody is the body of a request to /chat/completions. Its own fields take the
// place of go-openai's of the same names.
type chatBody struct {
	openai.ChatCompletionRequest
	Messages    []any    `json:"messages"`              // each an outgoing or an echoing
	Temperature *float32 `json:"temperature,omitempty"` // go-openai's leaves out 0
	TopP        *float32 `json:"top_p,omitempty"`
	CacheKey    string   `json:"prompt_cache_key,omitempty"`
}

// outgoing is a message in the form of /chat/completions. go-openai's own writes each by
// itself, and then all of them once more into the request; and a long thread has
// hundreds.
type outgoing struct {
	Role    llm.Role          `json:"role"`
	Content any               `json:"content,omitempty"` // a text, or []openai.ChatMessagePart
	Calls   []openai.ToolCall `json:"tool_calls,omitempty"`
	CallID  string            `json:"tool_call_id,omitempty"`
}

// echoing is a message with its echo.
type echoing struct {
	outgoing
	*echo
}

// MarshalJSON writes the message with the fields of its echo.
func (e echoing) MarshalJSON() ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := reread(e.outgoing, &fields); err != nil {
		return nil, err
	}
	for key, value := range e.Fields {
		fields[key] = value
	}
	if len(e.Extra) == 0 {
		return json.Marshal(fields)
	}
	var calls []map[string]json.RawMessage
	if err := reread(e.Calls, &calls); err != nil {
		return nil, err
	}
	for k := range calls {
		if k < len(e.Extra) && present(e.Extra[k]) {
			calls[k]["extra_content"] = e.Extra[k]
		}
	}
	raw, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	fields["tool_calls"] = raw
	return json.Marshal(fields)
}

// reread encodes v and decodes the result into another value.
func reread(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
