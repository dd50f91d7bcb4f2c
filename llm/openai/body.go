package openai

import (
	"bytes"
	"encoding/json"
	"errors"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

// additions are what is put into the body that go-openai wrote: the messages, the
// definitions of the tools, and what it leaves out.
type additions struct {
	messages []any  // each an outgoing or an echoing; nil for the API that has none
	tools    []byte // a list, in place of the standIns
	zeros    []string
}

// none says that there is nothing to put in.
func (a additions) none() bool { return a.messages == nil && a.tools == nil && len(a.zeros) == 0 }

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
	if f == 0 {
		a.zeros = append(a.zeros, field)
	}
	return f
}

// What go-openai writes where there are no messages, and for the standIns. Behind no
// other field of a request there is such a thing, and in a text its quotes are escaped.
var (
	noMessages = []byte(`"messages":null`)
	noTools    = []byte(`"tools":[{"type":"` + standIn + `"}]`)
)

// standIn is the type of the tool that go-openai is given instead of those that are
// offered, so that it knows that there are some: some models take none.
const standIn = "stands for the tools"

var standIns = []openai.Tool{{Type: standIn}}

var errBody = errors.New("the request has no place for what is to be put into it")

// into puts the additions into a request's body, of which nothing is read for that.
func (a additions) into(body []byte) (out []byte, err error) {
	if a.tools != nil {
		if body, err = instead(body, noTools, "tools", a.tools); err != nil {
			return nil, err
		}
	}
	if a.messages != nil {
		messages, err := json.Marshal(a.messages)
		if err != nil {
			return nil, err
		}
		if body, err = instead(body, noMessages, "messages", messages); err != nil {
			return nil, err
		}
	}
	for _, name := range a.zeros {
		body = append([]byte(`{"`+name+`":0,`), body[1:]...)
	}
	return body, nil
}

// instead puts a field in place of what stands for it.
func instead(body, place []byte, name string, value []byte) ([]byte, error) {
	head, tail, ok := bytes.Cut(body, place)
	if !ok {
		return nil, errBody
	}
	return bytes.Join([][]byte{head, []byte(`"` + name + `":`), value, tail}, nil), nil
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
