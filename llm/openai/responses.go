package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

// responses makes one completion by the Responses API, for models that take
// tools only there. Nothing is stored at the provider: the whole conversation
// goes along with every call, as with Chat Completions.
//
// https://platform.openai.com/docs/api-reference/responses
func (m *Model) responses(ctx context.Context, x *exchange, req request, out *sink) (llm.Response, error) {
	c, r := &answer{draft: m.draft(req, out)}, m.responsesRequest(req)
	var err error
	if x.stream {
		_, err = x.api.CreateResponseStream(ctx, r)
	} else {
		_, err = x.api.CreateResponse(ctx, r)
	}
	return x.read(c, err)
}

func (m *Model) responsesRequest(req request) openai.CreateResponseRequest {
	store := false
	r := openai.CreateResponseRequest{Model: m.o.Model, Store: &store}
	if !req.lim.has(noReasoning) { // as nothing is stored, it has to come along
		r.Include = []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent}
	}
	if !req.lim.has(noTemperature) {
		r.Temperature = m.o.Temperature
	}
	if !req.lim.has(noTopP) {
		r.TopP = m.o.TopP
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, openai.ResponseTool{Type: openai.ToolTypeFunction, Parameters: map[string]any{
			// Not strict, which is the default here: it refuses most schemas.
			"name": t.Name, "description": t.Description, "parameters": parameters(t), "strict": false,
		}})
	}
	if req.NoCalls && len(r.Tools) > 0 && !req.lim.has(noToolChoice) {
		r.ToolChoice = "none"
	}
	var items []any
	for _, msg := range req.Messages {
		if e := m.echoed(msg, req.lim); e != nil {
			for _, item := range e.Items {
				items = append(items, item)
			}
		}
		items = append(items, inputItems(msg, req.lim)...)
	}
	r.Input = items
	return r
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func inputItems(msg llm.Message, lim limits) []any {
	switch msg.Role {
	case llm.ToolRole:
		text, _ := pictures(msg, lim)
		return []any{openai.ResponseFunctionCallOutput{Type: "function_call_output", CallID: msg.CallID, Output: text}}
	case llm.User:
		text, images := pictures(msg, lim)
		if len(images) == 0 {
			return []any{openai.ResponseInputMessage{Role: "user", Content: text}}
		}
		parts := []any{openai.ResponseInputText{Type: "input_text", Text: text}}
		for _, url := range images {
			parts = append(parts, openai.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: url})
		}
		return []any{openai.ResponseInputMessage{Role: "user", Content: parts}}
	}
	var items []any
	if msg.Text != "" {
		items = append(items, openai.ResponseInputMessage{Role: string(msg.Role), Content: msg.Text})
	}
	for _, k := range msg.Calls {
		items = append(items, functionCall{"function_call", k.ID, k.Name, object(k.Args)})
	}
	return items
}

// event is one of the stream's, or the whole response in its last event.
type event struct {
	Type     string    `json:"type"`
	Delta    string    `json:"delta"`
	Item     *item     `json:"item"`
	Response *response `json:"response"`
	response
}

type response struct {
	Object     string          `json:"object"`
	Model      label           `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []item `json:"output"`
	Usage  struct {
		Input        int `json:"input_tokens"`
		InputDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Output        int `json:"output_tokens"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// item is a message, a reasoning or a function call of a response.
type item struct {
	Type    string `json:"type"`
	Content []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
	Summary []struct {
		Text string `json:"text"`
	} `json:"summary"`
	CallID string    `json:"call_id"`
	Name   string    `json:"name"`
	Args   arguments `json:"arguments"`
	Secret string    `json:"encrypted_content"` // of a reasoning

	raw json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler. It keeps the item as it came.
func (it *item) UnmarshalJSON(data []byte) error {
	type plain item
	if err := json.Unmarshal(data, (*plain)(it)); err != nil {
		return err
	}
	it.raw = bytes.Clone(data)
	return nil
}

// answer is the response so far.
type answer struct {
	draft // as it was streamed
	items []item
	final response
}

func (a *answer) emit(text, thought string) { a.out.emit(a.keep(text, thought)) }

func (a *answer) add(raw []byte) error {
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		return malformed("an event that is no response")
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		a.emit(a.stops.feed(e.Delta), "")
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.emit("", e.Delta)
	case "response.function_call_arguments.delta":
		a.out.calls()
	case "response.output_item.done":
		if e.Item != nil {
			a.items = append(a.items, *e.Item)
		}
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response == nil {
			return malformed("an end without a response")
		}
		return a.close(*e.Response)
	default:
		if e.Object == "response" && e.Type == "" {
			return a.close(e.response)
		}
		if present(e.Error) || e.Type == "error" || e.Type == "" {
			if said, ok := inband(raw); ok {
				return said
			}
		}
	}
	return nil
}

func (a *answer) close(r response) error {
	if present(r.Error) || r.Status == "failed" {
		said, ok := inband([]byte(`{"error":` + string(r.Error) + `}`))
		if !ok {
			return broken("the provider gave up in the middle", nil)
		}
		return said
	}
	if len(r.Output) == 0 {
		r.Output = a.items
	}
	a.final, a.over = r, true
	return nil
}

func (a *answer) end(_ bool, cause error) (llm.Response, error) {
	var f *failure
	switch {
	case errors.As(cause, &f):
		return llm.Response{}, f
	case !a.over && a.enough():
		finish := "stop"
		if a.room.over {
			finish = "length"
		}
		return llm.Response{Text: a.text.String(), Reasoning: a.thought.String(), Finish: finish}, nil
	case !a.over:
		return llm.Response{}, broken("the answer ended in the middle", cause)
	}
	out, over := a.final.read(a.newID, a.most)
	a.emit(a.stops.flush(), "")
	if !a.out.emitted {
		a.out.emit(cut(out.Text, a.stops.words), out.Reasoning)
	}
	reason := strings.Replace(a.final.Incomplete.Reason, "max_output_tokens", "length", 1)
	if over {
		reason = "length"
	}
	out.Finish, out.Model = finish(reason, len(out.Calls) > 0), nameOf(string(a.final.Model))
	if len(out.Calls) > 0 && !over {
		out.Echo = echo{From: a.from, Items: a.final.reasoning()}.pack(a.most)
	}
	u := a.final.Usage
	out.Usage = llm.Usage{Prompt: u.Input, Cached: u.InputDetails.Cached, Completion: u.Output, Reasoning: u.OutputDetails.Reasoning}
	return leftOf(out)
}

// reasoning are the items that go back with the calls: those that are of use to
// a provider that stored nothing.
func (r response) reasoning() []json.RawMessage {
	var out []json.RawMessage
	for _, it := range r.Output {
		if it.Type == "reasoning" && it.Secret != "" {
			out = append(out, it.raw)
		}
	}
	return out
}

// read gives the content of a response, as far as it fits.
func (r response) read(newID func() string, most int) (out llm.Response, over bool) {
	var found calls
	space := room{left: most}
	for _, it := range r.Output {
		switch it.Type {
		case "message":
			for _, p := range it.Content {
				out.Text += space.fit(p.Text + p.Refusal)
			}
		case "reasoning":
			for _, s := range it.Summary {
				out.Reasoning += space.fit(s.Text)
			}
			for _, p := range it.Content {
				out.Reasoning += space.fit(p.Text)
			}
		case "function_call":
			part := &partCall{id: it.CallID, name: it.Name}
			part.args.WriteString(space.fit(string(it.Args)))
			found = append(found, part)
		}
	}
	out.Calls = found.finish(newID)
	return out, space.over
}
