package openai

import (
	"bytes"
	"encoding/json"
	"errors"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

// additions are what is put into the body that go-openai wrote: the messages, and
// what it has no field for.
type additions struct {
	request  map[string]json.RawMessage // fields
	messages []any                      // each an outgoing or an echoing
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

// echoing is one with what goes back beside it.
type echoing struct {
	outgoing
	*echo
}

// number gives a number on; go-openai leaves 0 out, so that is added.
func (a *additions) number(field string, f float32) float32 {
	if a.request == nil {
		a.request = map[string]json.RawMessage{}
	}
	if f == 0 {
		a.request[field] = json.RawMessage("0")
	}
	return f
}

// noMessages is what go-openai writes where there are none, behind the model's name
// and so before anything else that may look like it.
var noMessages = []byte(`"messages":null`)

var errBody = errors.New("the request has no place for messages")

// into puts the additions into a request's body.
func (a additions) into(body []byte) ([]byte, error) {
	messages, err := json.Marshal(a.messages)
	if err != nil {
		return nil, err
	}
	if len(a.request) == 0 {
		head, tail, ok := bytes.Cut(body, noMessages)
		if !ok {
			return nil, errBody
		}
		return bytes.Join([][]byte{head, []byte(`"messages":`), messages, tail}, nil), nil
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	for key, value := range a.request {
		doc[key] = value
	}
	doc["messages"] = messages
	return json.Marshal(doc)
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

// reread reads what it writes.
func reread(v, into any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
