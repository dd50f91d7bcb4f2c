package trace

import (
	"encoding/json"
	"regexp"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Schema is the version of OpenTelemetry's semantic conventions. Those of generative AI
// are in development and change with each version, so all names stand here and nowhere
// else.
const Schema = "https://opentelemetry.io/schemas/1.40.0"

// The attributes. Those that begin with nod. are our own.
const (
	attrOperation    = "gen_ai.operation.name"
	attrProvider     = "gen_ai.provider.name"
	attrConversation = "gen_ai.conversation.id"
	attrAgent        = "gen_ai.agent.name"
	attrModel        = "gen_ai.request.model"
	attrServed       = "gen_ai.response.model"
	attrFinish       = "gen_ai.response.finish_reasons"
	attrServer       = "server.address"
	attrPort         = "server.port"
	attrPerson       = "enduser.id" // content
	attrPseudonym    = "enduser.pseudo.id"
	attrPrompt       = "gen_ai.usage.input_tokens"
	attrCached       = "gen_ai.usage.cache_read.input_tokens"
	attrWritten      = "gen_ai.usage.output_tokens"
	attrTool         = "gen_ai.tool.name"
	attrCall         = "gen_ai.tool.call.id"
	attrArguments    = "gen_ai.tool.call.arguments" // content
	attrResult       = "gen_ai.tool.call.result"    // content
	attrInput        = "gen_ai.input.messages"      // content
	attrOutput       = "gen_ai.output.messages"     // content
	attrTurn         = "nod.turn"
	attrSteps        = "nod.steps"
	attrStep         = "nod.step"
	attrPhase        = "nod.phase"
	attrPost         = "nod.post"
	attrOutcome      = "nod.outcome"
	attrApproval     = "nod.approval.number"
	attrQuorum       = "nod.approval.quorum"
	attrVotes        = "nod.approval.votes"
)

// ErrorType is the attribute that says why a span failed.
const ErrorType = "error.type"

const (
	agentName = "nod"
	// The conventions want this of every endpoint that speaks OpenAI's API.
	provider = "openai"
)

// common are the attributes of every span.
func (r *reader) common(operation string) []Attr {
	return []Attr{{attrOperation, operation}, {attrProvider, provider}, {attrConversation, r.thread.String()}}
}

// model says which model was asked, which one answered, and where. Each is left out
// where it is not known.
func (r *reader) model(b memory.Step) (out []Attr) {
	server := r.o.Server
	if b.Named != "" {
		server = "" // another model's is not known here
	}
	for _, a := range []Attr{{attrModel, b.Model}, {attrServed, b.Served}, {attrServer, server}} {
		if a.Value != "" {
			out = append(out, a)
		}
	}
	if r.o.Server != "" {
		out = append(out, Attr{attrPort, r.o.Port})
	}
	return out
}

// finish is why a completion ended, in the words of the API.
func finish(b memory.Step) string {
	switch {
	case b.Withheld:
		return llm.Withheld
	case b.Cut:
		return llm.CutOff
	case len(b.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// requester says who asked: with content by the id, else by a pseudonym.
func (r *reader) requester(id chat.UserID) []Attr {
	switch {
	case id == "":
		return nil
	case r.o.Content:
		return []Attr{{attrPerson, string(id)}}
	case r.o.Who == nil:
		return nil
	}
	return []Attr{{attrPseudonym, r.o.Who(r.thread.Platform + ":" + string(id))}}
}

func usage(prompt, cached, written int64) []Attr {
	return []Attr{{attrPrompt, prompt}, {attrCached, cached}, {attrWritten, written}}
}

func named(operation, of string) string {
	if of == "" {
		return operation
	}
	return operation + " " + of
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// tool is the name of a tool. A model calls by any name, and a text is none.
func tool(name string) string {
	if toolName.MatchString(name) {
		return name
	}
	return "unknown"
}

// part is a part of a message: a text, or a call of a tool.
type part struct {
	Type    string          `json:"type"`
	Content string          `json:"content,omitempty"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Args    json.RawMessage `json:"arguments,omitempty"`
}

type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

// messages writes texts in the form that the conventions have for them.
func (r *reader) messages(role string, texts ...string) string {
	out := []message{}
	for _, t := range texts {
		if t != "" {
			out = append(out, message{Role: role, Parts: []part{{Type: "text", Content: r.mask(t)}}})
		}
	}
	return written(out)
}

func written(all []message) string {
	raw, _ := json.Marshal(all) // never fails of these
	return string(raw)
}

// output is the completion of a step: its texts and its calls.
func (r *reader) output(b memory.Step) string {
	m := message{Role: "assistant", Parts: []part{}, Finish: finish(b)}
	for _, t := range []string{b.Thought, b.Answer} {
		if t != "" {
			m.Parts = append(m.Parts, part{Type: "text", Content: r.mask(t)})
		}
	}
	for _, c := range b.Calls {
		args := []byte(r.mask(c.Args))
		if !json.Valid(args) {
			args, _ = json.Marshal(string(args)) // never fails of a text
		}
		m.Parts = append(m.Parts, part{Type: "tool_call", ID: c.ID, Name: tool(c.Tool), Args: args})
	}
	return written([]message{m})
}
