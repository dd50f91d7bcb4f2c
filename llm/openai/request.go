package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

// chatRequest puts a request into the provider's words.
func (m *Model) chatRequest(req request, stream bool) chatBody {
	var r chatBody
	r.Model, r.Stream = m.o.Model, stream
	r.Messages = make([]any, 0, len(req.Messages)+1)
	for _, msg := range m.reidentified(ordered(req.Messages, req.lim), req.lim) {
		out, ok := chatMessage(msg, req.lim)
		if !ok {
			continue
		}
		e := m.echoed(msg, req.lim)
		if e == nil && len(msg.Calls) > 0 && req.lim.has(needsReasoning) {
			e = &echo{Fields: map[string]json.RawMessage{"reasoning_content": jsonText(padding)}}
		}
		if e == nil {
			r.Messages = append(r.Messages, out)
		} else {
			r.Messages = append(r.Messages, echoing{out, e})
		}
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: parameters(t),
		}})
	}
	if req.NoCalls && len(r.Tools) > 0 && !req.lim.has(noToolChoice) {
		r.ToolChoice = "none"
	}
	if !req.lim.has(noStop) {
		r.Stop = req.Stop
	}
	if t := m.o.Temperature; t != nil && !req.lim.has(noTemperature) {
		r.Temperature, r.ChatCompletionRequest.Temperature = t, *t // go-openai checks the second
	}
	if p := m.o.TopP; p != nil && !req.lim.has(noTopP) {
		r.TopP, r.ChatCompletionRequest.TopP = p, *p
	}
	r.CacheKey = m.cacheKey(req.Fair)
	if stream && !req.lim.has(noStreamOptions) {
		r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	return r
}

// cacheKey leads the calls of a thread to the machine that has its prefix. Only OpenAI is
// known to take it; strict servers refuse a field that they don't know.
// https://platform.openai.com/docs/guides/prompt-caching
func (m *Model) cacheKey(thread string) string {
	if host, _, _ := strings.Cut(m.from(), " "); thread == "" || host != "api.openai.com" && !strings.HasSuffix(host, ".openai.azure.com") {
		return ""
	}
	sum := sha256.Sum256([]byte(thread))
	return hex.EncodeToString(sum[:16])
}

// noted stands between a result and a person's next message for models that
// take none right there.
const noted = "(noted)"

// ordered puts messages of people that stand in a row into one: many chat
// templates refuse a role twice in a row. And some refuse a person's message
// right behind a result.
func ordered(messages []llm.Message, lim limits) []llm.Message {
	out := make([]llm.Message, 0, len(messages)+1)
	for _, m := range messages {
		n := len(out)
		if m.Role == llm.User && n > 0 && out[n-1].Role == llm.ToolRole && lim.has(noUserAfterTool) {
			out = append(out, llm.Message{Role: llm.Assistant, Text: noted})
			n++
		}
		if m.Role != llm.User || n == 0 || out[n-1].Role != llm.User {
			out = append(out, m)
			continue
		}
		last := &out[n-1]
		last.Text += "\n\n" + m.Text
		last.Images = append(last.Images[:len(last.Images):len(last.Images)], m.Images...)
	}
	return out
}

// parameters is a tool's schema; servers insist on there being one.
func parameters(t llm.Tool) json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Parameters
}

// nothing stands for an empty text, which servers refuse.
const nothing = "(empty)"

// chatMessage puts a message into the provider's words; ok is false for one that
// says nothing.
func chatMessage(msg llm.Message, lim limits) (out outgoing, ok bool) {
	out = outgoing{Role: msg.Role}
	switch msg.Role {
	case llm.Assistant, llm.System:
		for _, k := range msg.Calls {
			out.Calls = append(out.Calls, openai.ToolCall{
				ID: k.ID, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: k.Name, Arguments: object(k.Args)},
			})
		}
		if msg.Text != "" {
			out.Content = msg.Text
		}
		return out, msg.Text != "" || len(msg.Calls) > 0
	case llm.ToolRole:
		out.CallID = msg.CallID
	}
	text, images := pictures(msg, lim)
	if len(images) == 0 {
		out.Content = text
		return out, true
	}
	parts := []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: text}}
	for _, url := range images {
		parts = append(parts, openai.ChatMessagePart{
			Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: url},
		})
	}
	out.Content = parts
	return out, true
}

// pictures gives the text of a message, never empty, and its images as data
// URLs, or instead of them a word that they can't be seen.
func pictures(msg llm.Message, lim limits) (text string, urls []string) {
	text = msg.Text
	for _, img := range msg.Images {
		if lim.has(noImages) {
			text += "\n(An image was attached, which you can't see.)"
			continue
		}
		urls = append(urls, "data:"+img.MediaType+";base64,"+base64.StdEncoding.EncodeToString(img.Data))
	}
	text = cmp.Or(text, nothing)
	return text, urls
}

// object gives arguments as servers take them back: they read them, and
// refuse a whole conversation over a call that was once written badly. What
// is no object is wrapped into one.
func object(args string) string {
	if args == "" {
		return "{}"
	}
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &m) == nil && m != nil {
		return args
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid_arguments": args}) // strings always marshal
	return string(wrapped)
}
