package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
	"nod/llm/thought"
)

// chunk is a piece of a streamed completion, or a whole one: they differ in
// whether a choice has a delta or a message.
type chunk struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
	XGroq   struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	Error json.RawMessage `json:"error"`
}

type choice struct {
	Index   int             `json:"index"`
	Delta   *message        `json:"delta"`
	Message *message        `json:"message"`
	Finish  string          `json:"finish_reason"`
	Native  string          `json:"native_finish_reason"` // OpenRouter: of the server behind it
	Error   json.RawMessage `json:"error"`
}

type message struct {
	Content          content           `json:"content"`
	Refusal          content           `json:"refusal"`
	ReasoningContent *content          `json:"reasoning_content"` // DeepSeek, Z.ai, xAI, llama.cpp
	Reasoning        *content          `json:"reasoning"`         // OpenRouter, vLLM, Groq, Ollama
	Details          []json.RawMessage `json:"reasoning_details"` // OpenRouter, Vercel, Snowflake: signed
	Calls            []wireCall        `json:"tool_calls"`
}

// content is a string, or a list of parts of which some are thoughts
// (https://docs.mistral.ai/capabilities/reasoning/).
type content struct{ text, thought string }

func (c *content) plainText() string {
	if c == nil {
		return ""
	}
	return c.text
}

// UnmarshalJSON implements json.Unmarshaler. Other values count as empty.
func (c *content) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(data, &parts) != nil {
		parts = nil // neither a text nor a list of parts: there is nothing to read
	}
	for _, p := range parts {
		var inner content
		if p.Type == "thinking" && inner.UnmarshalJSON(p.Thinking) == nil {
			c.thought += inner.text
			continue
		}
		c.text += p.Text
	}
	return nil
}

// completion is the answer so far.
type completion struct {
	draft
	lingers func() // the answer is whole: what follows is not waited for long
	think   thought.Splitter
	waits   bool // text is not shown before the end: it may still become a thought
	closed  bool // thoughts were closed that nothing had opened
	calls   calls
	offered []llm.Tool
	model   string // as the provider names it
	back    reasoned
	finish  string
	usage   llm.Usage
	some    bool // anything at all
}

// add takes in a piece. Its errors are failures.
func (c *completion) add(raw []byte) error {
	var k chunk
	odd := new(json.UnmarshalTypeError) // the rest of the piece is still read
	if err := json.Unmarshal(raw, &k); err != nil && !errors.As(err, &odd) {
		if c.finish != "" {
			return nil // the answer is whole; this would have been the usage
		}
		return malformed("an event that is no JSON")
	}
	if len(k.Choices) == 0 || present(k.Error) {
		if said, ok := inband(raw); ok {
			return said
		}
	}
	c.model = cmp.Or(k.Model, c.model)
	for _, u := range []*usage{k.XGroq.Usage, k.Usage} {
		if u != nil {
			c.usage = u.count()
		}
	}
	for _, ch := range k.Choices {
		if present(ch.Error) {
			if said, ok := inband([]byte(`{"error":` + string(ch.Error) + `}`)); ok {
				return said
			}
		}
		if ch.Index == 0 {
			c.addChoice(ch)
		}
	}
	if c.finish != "" {
		c.lingers()
	}
	return nil
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}" && string(raw) != `""`
}

func (c *completion) addChoice(ch choice) {
	if ch.Finish != "" {
		c.finish = ch.Finish
	}
	if gaveUp[ch.Native] {
		c.finish = ch.Native
	}
	for _, m := range []*message{ch.Delta, ch.Message} {
		if m == nil {
			continue
		}
		c.back.add(m)
		apart := cmp.Or(m.ReasoningContent.plainText(), m.Reasoning.plainText()) + m.Content.thought
		c.waits = c.waits && (apart == "" || c.text.Len() > 0)
		c.addPiece("", apart)
		c.think.Feed(m.Content.text)
		c.addPiece(m.Refusal.text, "")
		for i := range m.Calls {
			m.Calls[i].Function.Args = arguments(c.room.fit(string(m.Calls[i].Function.Args)))
		}
		c.calls.add(m.Calls, c.offered)
		if len(m.Calls) > 0 {
			c.some = true
			c.out.calls()
		}
	}
}

func (c *completion) addPiece(text, thought string) {
	c.some = c.some || text != ""
	c.emit(c.stops.feed(text), thought)
}

func (c *completion) emit(text, thought string) {
	text, thought = c.keep(text, thought)
	c.some = c.some || text != "" || thought != ""
	if c.waits {
		text = ""
	}
	c.out.emit(text, thought)
}

// part takes a part of the content; see [thought.Splitter].
func (c *completion) part(text, thought string, back bool) {
	if !back {
		c.addPiece(text, thought)
		return
	}
	c.emit(c.stops.flush(), "")
	text = c.text.String()
	c.text.Reset()
	c.thought.WriteString(text)
	if c.closed = true; c.waits {
		c.waits = false
		c.out.emit("", text)
		return
	}
	c.out.reset()
	if len(c.calls) > 0 {
		c.out.calls()
	}
	c.out.emit("", c.thought.String())
}

// end closes the answer. cause is the error that cut it off, if any.
func (c *completion) end(ended bool, cause error) (llm.Response, error) {
	c.think.Flush()
	c.emit(c.stops.flush(), "")
	if c.waits {
		c.out.emit(c.text.String(), "")
	}
	var f *failure
	switch {
	case c.stops.hit:
		c.finish, c.calls = "stop", nil
	case c.room.over:
		c.finish = "length"
	case errors.As(cause, &f):
		return llm.Response{}, f
	case gaveUp[c.finish]:
		return llm.Response{}, broken("the provider gave up in the middle", nil)
	case strings.HasPrefix(c.finish, "function_call_filter") || strings.HasSuffix(c.finish, "MALFORMED_FUNCTION_CALL"): // Gemini
		return llm.Response{}, malformed("a call that its server can't read")
	case c.finish == "" && !ended:
		return llm.Response{}, broken("the answer ended in the middle", cause)
	case c.finish == "" && !c.some:
		return llm.Response{}, malformed("an answer with nothing in it")
	}
	calls := c.calls.finish(c.newID)
	return leftOf(llm.Response{
		Text: c.text.String(), Reasoning: c.thought.String(), Echo: c.echo(calls),
		Calls: calls, Finish: finish(c.finish, len(calls) > 0), Usage: c.usage, Model: nameOf(c.model),
	})
}

// label is a name that may be anything else, too.
type label string

// UnmarshalJSON implements json.Unmarshaler.
func (l *label) UnmarshalJSON(data []byte) error {
	_ = json.Unmarshal(data, (*string)(l)) // then it has no name
	return nil
}

// mostName bounds the name of a model, which a provider may make of anything.
const mostName = 100

func nameOf(model string) string { return strings.ToValidUTF8(model[:min(mostName, len(model))], "") }

// leftOf returns the part of an answer that a filter left. An empty rest is a refusal;
// asking again would bring the same.
func leftOf(r llm.Response) (llm.Response, error) {
	if r.Finish == llm.Withheld && strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 {
		return llm.Response{}, &failure{public: llm.Error{Fault: llm.Filtered, Message: "there is nothing left of the answer"}}
	}
	return r, nil
}

// gaveUp are the reasons of an answer that its server broke off: OpenRouter; DeepSeek;
// vLLM and SGLang, which say [DONE] behind it all the same; Z.ai.
var gaveUp = map[string]bool{"error": true, "insufficient_system_resource": true, "abort": true, "network_error": true}

// echo is the echo of the calls; without calls the turn is over.
func (c *completion) echo(calls []llm.Call) llm.Echo {
	if len(calls) == 0 || c.room.over {
		return nil
	}
	e := echo{From: c.from, Fields: c.back.fields()}
	e.IDs = bound(e.Fields, calls)
	for _, part := range c.calls {
		if part.name != "" {
			e.Extra = append(e.Extra, part.extra)
		}
	}
	if !slices.ContainsFunc(e.Extra, present) {
		e.Extra = nil
	}
	return e.pack(c.most)
}

// finish puts a provider's reason into one of the four words of
// [llm.Response]. Some say stop, or nothing, when there are calls.
func finish(reason string, calls bool) string {
	reason, _, _ = strings.Cut(strings.ToLower(reason), ":") // Gemini names the filter behind it
	switch reason {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		return "length"
	case "content_filter", "content_filtered", "guardrail_intervened", "safety", "prohibited_content", "blocklist", "spii", "recitation", "refusal", "sensitive":
		return "content_filter"
	}
	if calls {
		return "tool_calls"
	}
	return "stop"
}

// usage is a provider's count of tokens. Any part may be missing or null.
type usage struct {
	Prompt        float64 `json:"prompt_tokens"` // a few write 12.0
	Completion    float64 `json:"completion_tokens"`
	Total         float64 `json:"total_tokens"`
	CacheHit      float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	PromptDetails struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u usage) count() llm.Usage {
	out := llm.Usage{
		Prompt: int(u.Prompt), Cached: int(u.PromptDetails.Cached),
		Completion: int(u.Completion), Reasoning: int(u.CompletionDetails.Reasoning),
	}
	out.Cached = cmp.Or(out.Cached, int(u.CacheHit))
	if out.Reasoning > 0 && int(u.Total) == out.Prompt+out.Completion+out.Reasoning { // xAI counts it apart
		out.Completion += out.Reasoning
	}
	return out
}

// chat makes one completion by Chat Completions.
func (m *Model) chat(ctx context.Context, x *exchange, req request, out *sink) (llm.Response, error) {
	c := &completion{draft: m.draft(req, out), lingers: x.lingers, offered: req.Tools, waits: req.lim.has(unopened), back: reasoned{texts: map[string]*strings.Builder{}}}
	c.think.Out = c.part
	defer func() {
		if c.closed {
			m.note(unopened)
		}
	}()
	r := m.chatRequest(req, x.stream)
	if err := openai.NewReasoningValidator().Validate(r.ChatCompletionRequest); err != nil {
		return llm.Response{}, err
	}
	var err error
	if x.sends, err = json.Marshal(r); err != nil {
		return llm.Response{}, fmt.Errorf("write request: %w", err)
	}
	bare := openai.ChatCompletionRequest{Model: m.o.Model} // for the address: the body is ours
	if x.stream {
		_, err = x.api.CreateChatCompletionStream(ctx, bare)
	} else {
		_, err = x.api.CreateChatCompletion(ctx, bare)
	}
	return x.read(c, err)
}
