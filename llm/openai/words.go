package openai

import (
	"net/http"
	"regexp"
)

// Words by which servers say why they refuse, in lower case. Where they fail, behaviour
// decides: seemsLong knows most others that are about the length, an unknown refusal of a
// prompt that may be shortened is tried with half of it (package run), and one of a
// picture without it (doubt.go). A filter that no word tells is a refusal like others.

// longWords say that the prompt is too long.
var longWords = []string{
	"context_length_exceeded",             // https://platform.openai.com/docs/guides/error-codes
	"maximum context length",              // OpenAI, vLLM, OpenRouter
	"context length",                      // Fireworks, LM Studio
	"context window",                      // Anthropic, LiteLLM
	"context size",                        // llama.cpp
	"prompt is too long",                  // Anthropic: https://docs.anthropic.com/en/api/errors
	"prompt too long",                     // Ollama
	"input is too long",                   // Bedrock
	"request too large",                   // Groq: https://console.groq.com/docs/errors
	"too many input tokens",               // Bedrock
	"maximum prompt length",               // xAI
	"input token count",                   // Gemini
	"prompt token count",                  // Copilot
	"exceeded model token limit",          // Moonshot
	"more than max tokens allowed",        // Z.ai
	"inputs tokens + max_new_tokens must", // TGI, Together
	"range of input length",               // DashScope
}

// exhaustedWords tell of a quota that waiting does not fill.
var exhaustedWords = []string{
	"insufficient_quota",         // https://platform.openai.com/docs/guides/error-codes
	"billing_not_active",         // the same
	"billing_hard_limit",         // the same
	"insufficient quota",         // Azure
	"insufficient balance",       // https://api-docs.deepseek.com/quick_start/error_codes
	"insufficient credit",        // https://openrouter.ai/docs/api-reference/errors
	"exceeded_current_quota",     // https://platform.moonshot.ai/docs/api/errors
	"credit balance is too low",  // https://docs.anthropic.com/en/api/errors
	"used all available credits", // xAI
}

// filteredWords tell of a content filter.
var filteredWords = []string{
	"content_filter",            // https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
	"content management policy", // the same
	"responsibleai",             // the same
	"content_policy",            // OpenAI
	"moderation",                // https://openrouter.ai/docs/api-reference/errors
	"flagged",                   // the same
	"content filtering policy",  // Anthropic
	"content exists risk",       // DeepSeek
	"data_inspection_failed",    // https://help.aliyun.com/zh/model-studio/error-code
	"inappropriate content",     // the same, in words
	"violates usage guidelines", // xAI
	"unsafe or sensitive",       // https://docs.z.ai/api-reference/api-code
	"new_sensitive",             // https://platform.minimax.io/docs/api-reference/errorcode
}

// longFirst and longLast match other words for a prompt that is too long, in either order.
// partOf names a part of a request that is no prompt, in the words up to there.
var (
	longFirst = regexp.MustCompile(`\b(exceed\w*|too (many|long|large|big)|larger than|longer than|must be <=|range of|greater than|(less|fewer|no more) than)\b.{0,80}\b(tokens?|context|prompt|inputs?|model)\b`)
	longLast  = regexp.MustCompile(`\b(tokens?|context|prompt|inputs?|conversation)\b.{0,80}\b(exceed\w*|too (many|long|large|big)|larger than|longer than|greater than|range of|must be <=|no more than|over the (limit|maximum))(\W|$)`)
	partOf    = regexp.MustCompile(`\b(tools?|functions?|schema|name|description|stop|temperature|top_?p|image\w*|minute|rate|(\w+_)?id)\b`)
)

// seemsLong says that a refusal is about the length of the prompt, in words that no list
// has.
func (e wireError) seemsLong(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		words := e.words()
		for _, form := range []*regexp.Regexp{longFirst, longLast} {
			if at := form.FindStringIndex(words); at != nil && !partOf.MatchString(words[:at[1]]) {
				return true
			}
		}
	}
	return false
}

// unsupportedWords say that a model does not take something; a value out of range must not
// be taken for that. The second refusal decides where they are about one call.
var unsupportedWords = []string{
	"unsupported",                     // OpenAI, unsupported_parameter: https://platform.openai.com/docs/guides/error-codes
	"not support",                     // OpenAI, vLLM, Groq
	"n't support",                     // OpenRouter, Ollama
	"only the default",                // OpenAI, of temperature
	"must be verified",                // OpenAI, of streams
	"not allowed",                     // vLLM
	"not permitted",                   // FastAPI, of extra inputs: https://docs.pydantic.dev/latest/errors/validation_errors/
	"unexpected",                      // FastAPI, of arguments
	"extra inputs",                    // Mistral
	"extra fields",                    // Mistral, older
	"extra_forbidden",                 // FastAPI, the type of the same
	"unknown",                         // DeepSeek, of a variant; OpenAI's older models, of a parameter
	"unrecognized",                    // OpenAI, of request arguments
	"not available",                   // LiteLLM
	"not implemented",                 // llama.cpp
	"invalid parameter",               // DashScope
	"not compatible",                  // Groq
	"incompatible",                    // Groq
	"cannot both be",                  // Anthropic, of temperature and top_p
	"can't both be",                   // the same
	"deprecated",                      // Anthropic
	"must be omitted",                 // Anthropic
	"no endpoints found that support", // https://openrouter.ai/docs/api-reference/errors
	"only supported by",               // OpenAI
	"allowed for this model",          // Moonshot, of the only temperature
	"may only be set",                 // Anthropic, of temperature beside thinking
}
