package speak

import (
	"regexp"
	"strings"

	"nod/llm"
)

// NativeTools is the protocol of models with function calling.
type NativeTools struct{}

// Request implements [Protocol].
func (NativeTools) Request(p Prompt) llm.Request {
	req := llm.Request{Tools: p.Tools}
	say := func(role llm.Role, text string) {
		req.Messages = append(req.Messages, llm.Message{Role: role, Text: text})
	}
	say(llm.System, p.System)
	for _, e := range p.Examples {
		say(llm.User, e.User)
		say(llm.Assistant, e.Assistant)
	}
	if p.Left != "" {
		say(llm.User, p.Left)
	}
	for _, items := range p.Turns {
		for _, it := range items {
			switch {
			case it.Step != nil && len(it.Step.Calls) == 0:
				// Thinking without a call is nothing that this form can show.
			case it.Step != nil:
				req.Messages = append(req.Messages, did(*it.Step)...)
			case it.Answer != "":
				say(llm.Assistant, it.Answer)
			default:
				req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: it.Said, Images: it.Images})
			}
		}
	}
	if p.LastCall {
		say(llm.System, LastCall)
	}
	return req
}

// did is a step with its results, as messages.
func did(do Doing) []llm.Message {
	out := []llm.Message{{Role: llm.Assistant, Text: do.Thought}}
	for i, c := range do.Calls {
		id := c.WireID
		if id == "" {
			id = c.ID
		}
		out[0].Calls = append(out[0].Calls, llm.Call{ID: id, Name: wireName(c.Tool), Args: c.Args})
		out = append(out, llm.Message{Role: llm.ToolRole, CallID: id, Text: do.Results[i]})
	}
	if len(do.Images) > 0 { // a tool's message holds text only
		out = append(out, llm.Message{Role: llm.User, Text: textPictures, Images: do.Images})
	}
	return out
}

// wireNames are the names that providers take. A model may have called a tool
// that there is not by any other.
var wireNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func wireName(name string) string {
	if wireNames.MatchString(name) {
		return name
	}
	return "unknown"
}

// Read implements [Protocol]. Text beside calls is the thought; reasoning is
// never part of an answer.
func (NativeTools) Read(_ []llm.Tool, r llm.Response) Completion {
	text := strings.TrimSpace(r.Text)
	if len(r.Calls) == 0 {
		return Completion{Thought: strings.TrimSpace(r.Reasoning), Answer: text}
	}
	if text == "" {
		text = strings.TrimSpace(r.Reasoning)
	}
	return Completion{Thought: text, Calls: r.Calls}
}
