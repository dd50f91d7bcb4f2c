package openai

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"nod/llm"
)

// limits are parameters that the model is known to refuse.
type limits uint

// The limits. Each is learnt from a refusal, and the call made again without.
const (
	noStop limits = 1 << iota
	noTemperature
	noTopP
	noStreamOptions
	noStream
	noImages
	noToolChoice
	heedless   // calls tools although none may be called: they are not shown then
	needsTools // beside calls in the history, all the same
	noUserAfterTool
	noReasoning    // none is sent back
	needsReasoning // beside every call
	unopened       // closes thoughts that it did not open: text waits for the end
	needsResponses // refuses Chat Completions, altogether or with tools
)

var limitNames = map[limits]string{
	noStop: "no stop", noTemperature: "no temperature", noTopP: "no top_p", noStreamOptions: "no stream_options",
	noStream: "no stream", noImages: "no images", noToolChoice: "no tool_choice", heedless: "calls with tool_choice none", needsTools: "needs tools beside calls", noUserAfterTool: "no user after tool", noReasoning: "no reasoning", needsReasoning: "needs reasoning", unopened: "thoughts without an opening tag", needsResponses: "needs responses",
}

func (l limits) has(one limits) bool { return l&one != 0 }

func (m *Model) limits() limits {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// learn learns from a refusal, and says whether the call is worth repeating. req is the
// refused call, and s is to be left out of the next one.
func (m *Model) learn(f *failure, req request, s *spared) bool {
	found := refused(f) & m.sent(req.Request, req.lim) &^ req.lim
	switch {
	case found != 0 && certain(f, found):
		m.note(found)
	case found&^noImages != 0:
		s.lim |= found
	default:
		return m.shun(f, req.Tools) || m.spares(f, req, s)
	}
	return true
}

// note keeps limits, and logs those that were not known.
func (m *Model) note(found limits) {
	m.mu.Lock()
	fresh := found &^ m.known
	m.known |= found
	m.mu.Unlock()
	for one, name := range limitNames {
		if fresh.has(one) {
			m.o.Logger.Log(context.Background(), level(one), "model limit learnt", "limit", name)
		}
	}
}

// sent says which limits the refused call could have run into.
func (m *Model) sent(req llm.Request, lim limits) limits {
	out := needsResponses
	if lim.has(needsResponses) {
		out |= noReasoning
	}
	if len(req.Stop) > 0 && !lim.has(needsResponses) {
		out |= noStop
	}
	if m.o.Temperature != nil {
		out |= noTemperature
	}
	if m.o.TopP != nil {
		out |= noTopP
	}
	if m.o.Stream {
		out |= noStream
		if !lim.has(noStream) && !lim.has(needsResponses) {
			out |= noStreamOptions
		}
	}
	if req.NoCalls {
		out |= noToolChoice | needsTools
	}
	for i, msg := range req.Messages {
		if len(msg.Calls) > 0 {
			out |= needsReasoning
		}
		if len(msg.Echo) > 0 {
			out |= noReasoning
		}
		if msg.Role == llm.User && i > 0 && req.Messages[i-1].Role == llm.ToolRole {
			out |= noUserAfterTool
		}
		if len(msg.Images) > 0 {
			out |= noImages
		}
	}
	return out
}

// sentinel reads a limit out of go-openai's own refusal of a request.
func sentinel(err error) limits {
	switch {
	case errors.Is(err, openai.ErrReasoningModelLimitationsOther), errors.Is(err, openai.ErrReasoningSamplingUnsupported):
		return noTemperature | noTopP
	case errors.Is(err, openai.ErrReasoningToolsRequireResponses), errors.Is(err, openai.ErrChatCompletionInvalidModel):
		return needsResponses
	}
	return 0
}

// named are the words by which a refusal names the refused parameter.
var named = []struct {
	limit limits
	word  *regexp.Regexp
}{
	// More telling ones first: a refusal teaches one thing at a time, and
	// which of two to leave out, where both can't be, is up to this order.
	{noStreamOptions, regexp.MustCompile(`\b(stream_options|include_usage)\b`)},
	{noTopP, regexp.MustCompile(`\btop_?p\b`)},
	{noTemperature, regexp.MustCompile(`\btemperature\b`)},
	{noReasoning, regexp.MustCompile(`\b(reasoning(_content|_details)?|extra_content|encrypted( content|_content))\b`)},
	{noToolChoice, regexp.MustCompile(`\btool_choice\b`)},
	{noStop, regexp.MustCompile(`\bstop\b`)},
	{noImages, regexp.MustCompile(`\b(image_url|images?|vision|multimodal)\b`)},
	{noStream, regexp.MustCompile(`^stream$|\bstream(ing)?\b.{0,60}\b((un)?support|verified)|\b(support|supported|verified)\b.{0,60}\bstream(ing)?\b`)},
}

// userAfterTool is how Mistral's API, and templates that insist on turns, refuse
// a person's message right behind a result.
var userAfterTool = regexp.MustCompile(`unexpected role .?user.? after role .?tool|roles must alternate`)

// toolsMissing is how LiteLLM and Anthropic refuse calls beside which no tool is
// defined.
var toolsMissing = regexp.MustCompile("without .?tools=|must define tools")

// reasoningMissing is how providers insist on the reasoning beside calls, and
// badSignature how they refuse one: a signature of another host of the model.
var (
	reasoningMissing = regexp.MustCompile(`reasoning_content.{0,60}\b(missing|must be passed back|is required)|missing.{0,20}reasoning_content`)
	badSignature     = regexp.MustCompile(`invalid.{0,5}signature.{0,20}thinking|encrypted content.{0,40}could not be`)
)

// refused reads a limit out of a refusal. The server's param, where it gives
// one, is better than the words of its message.
func refused(f *failure) limits {
	if l := sentinel(f.cause); l != 0 {
		return l
	}
	switch f.public.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity:
	default:
		if f.public.Status != http.StatusInternalServerError || f.public.Fault != llm.Refused {
			return 0
		}
	}
	if f.said.says("v1/responses", "responses api") {
		return needsResponses
	}
	switch words := f.said.words(); {
	case userAfterTool.MatchString(words):
		return noUserAfterTool
	case toolsMissing.MatchString(words):
		return needsTools
	case reasoningMissing.MatchString(words):
		return needsReasoning
	case badSignature.MatchString(words):
		return noReasoning
	}
	if !f.said.says(unsupportedWords...) {
		return 0
	}
	for _, text := range []string{strings.ToLower(f.said.Param), f.said.words()} {
		for _, n := range named {
			if n.word.MatchString(text) {
				return n.limit
			}
		}
	}
	return 0
}
