package speak

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"nod/llm"
	"nod/llm/thought"
)

// NativeTools is the protocol of models with function calling. It sends what
// strict servers take, too: one system message at the front, and tools beside
// every history that has calls.
type NativeTools struct{}

// Request implements [Protocol].
func (NativeTools) Request(p Prompt) llm.Request {
	messages := make([]llm.Message, 0, mostMessages(p))
	say := func(role llm.Role, text string) {
		messages = append(messages, llm.Message{Role: role, Text: text})
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
				messages = did(messages, *it.Step)
			case it.Answer != "":
				say(llm.Assistant, it.Answer)
			default:
				messages = append(messages, llm.Message{Role: llm.User, Text: it.Said, Images: it.Images})
			}
		}
	}
	switch {
	case p.LastCall && p.Plainly:
		say(llm.User, "["+textPlainly+"]")
	case p.LastCall:
		say(llm.User, "["+LastCall+"]")
	}
	req := llm.Request{Messages: messages, Tools: p.Tools}
	called := calledIn(messages)
	if p.LastCall || len(p.Tools) == 0 {
		req.Tools, req.NoCalls = nil, len(called) > 0
	}
	if req.NoCalls { // servers refuse a history with calls where no tool is defined
		if req.Tools = p.Tools; len(p.Tools) == 0 {
			req.Tools = called
		}
	}
	return req
}

// mostMessages is how many messages a prompt becomes at the most. A long thread has
// thousands, and they are written anew for each call of the model.
func mostMessages(p Prompt) int {
	n := 3 + 2*len(p.Examples) // the system's, what was left out, the last word
	for _, items := range p.Turns {
		for _, it := range items {
			n++
			if it.Step != nil {
				n += len(it.Step.Calls) + 1
			}
		}
	}
	return n
}

// calledIn are the tools that were called, each once, by their names alone.
func calledIn(messages []llm.Message) (out []llm.Tool) {
	for _, m := range messages {
		for _, c := range m.Calls {
			if !slices.ContainsFunc(out, func(t llm.Tool) bool { return t.Name == c.Name }) {
				out = append(out, llm.Tool{Name: c.Name, Description: "This tool is not there any more.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)})
			}
		}
	}
	return out
}

// did adds a step with its results, as messages.
func did(out []llm.Message, do Doing) []llm.Message {
	calls := make([]llm.Call, 0, len(do.Calls))
	for _, c := range do.Calls {
		calls = append(calls, llm.Call{ID: wireID(c.ID), Name: wireName(c.Tool), Args: c.Args})
	}
	out = append(out, llm.Message{Role: llm.Assistant, Text: do.said(), Calls: calls, Echo: do.Echo})
	for i, c := range calls {
		out = append(out, llm.Message{Role: llm.ToolRole, CallID: c.ID, Text: do.Results[i]})
	}
	if len(do.Images) > 0 { // a tool's message holds text only
		out = append(out, llm.Message{Role: llm.User, Text: textPictures, Images: do.Images})
	}
	return out
}

// idDigits and idLength are what Mistral takes of a call's id, and so what
// everybody does. The model's own id is of no use: a thread outlives its model.
const (
	idDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	idLength = 9
)

// wireID is the id of a call on the wire, made of nod's own.
func wireID(id string) string {
	sum := sha256.Sum256([]byte(id))
	n := binary.BigEndian.Uint64(sum[:])
	out := make([]byte, idLength)
	for i := range out {
		out[i] = idDigits[n%uint64(len(idDigits))]
		n /= uint64(len(idDigits))
	}
	return string(out)
}

// wireNames are the names that providers take. A model may have called a tool
// that there is not by any other, or by none.
var wireNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func wireName(name string) string {
	if wireNames.MatchString(name) {
		return name
	}
	return "unknown"
}

// Read implements [Protocol]. Text beside calls is the thought; reasoning is
// never part of an answer.
func (NativeTools) Read(tools []llm.Tool, r llm.Response) Completion {
	text, before := thought.Split(r.Text)
	text, reasoning := strings.TrimSpace(text), strings.TrimSpace(r.Reasoning+"\n"+before)
	c := Completion{Calls: r.Calls, Thought: text}
	if len(r.Calls) == 0 {
		c.Thought, c.Answer = "", text
		if before, ok := kit(tools).inText(text); ok {
			c.Thought, c.Answer, c.Written = before, "", true
		}
	}
	return c.orReasoned(reasoning)
}

// Growing implements [Grower]: nothing of a text is a thought before a call
// follows it.
func (NativeTools) Growing(string) (thought string) { return "" }

// Answering implements [Grower]: a text is the answer unless a call follows it, or it is
// one.
func (NativeTools) Answering(tools []llm.Tool, text string) (answer string) {
	return kit(tools).unwritten(strings.TrimSpace(text))
}
