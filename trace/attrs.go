package trace

import (
	"encoding/json"
	"regexp"
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

// model is nothing for a step of a build that did not note it.
func model(name string) []Attr {
	if name == "" {
		return nil
	}
	return []Attr{{attrModel, name}}
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

// messages writes texts in the form that the conventions have for them.
func (r *reader) messages(role string, texts ...string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	type message struct {
		Role  string `json:"role"`
		Parts []part `json:"parts"`
	}
	out := []message{}
	for _, t := range texts {
		if t != "" {
			out = append(out, message{role, []part{{"text", r.mask(t)}}})
		}
	}
	raw, _ := json.Marshal(out) // never fails of strings
	return string(raw)
}
