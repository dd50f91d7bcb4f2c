package speak

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"nod/llm"
)

// A server without a parser for its model's calls leaves them in the text. Such a call
// does not run: it is no answer either, and the model is told.

// callMarks begin calls in the templates of models.
var callMarks = []string{
	"<tool_call>",                        // Hermes, Qwen, GLM: https://huggingface.co/NousResearch/Hermes-3-Llama-3.1-8B
	"<tool_calls>",                       // Jamba: https://huggingface.co/ai21labs/AI21-Jamba-Large-1.6
	"<function=",                         // Llama 3.1, Qwen3-Coder: https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1
	"<|python_tag|>",                     // Llama 3.1
	"<function_call>",                    // Granite 3: https://huggingface.co/ibm-granite/granite-20b-functioncalling
	"<functioncall>",                     // https://huggingface.co/datasets/glaiveai/glaive-function-calling-v2
	"<|tool_call|>",                      // Phi-4-mini, Granite: https://huggingface.co/microsoft/Phi-4-mini-instruct
	"<|tool_call_start|>",                // https://huggingface.co/LiquidAI/LFM2-1.2B
	"[TOOL_CALLS]",                       // https://docs.mistral.ai/guides/tokenization
	"<｜tool▁calls▁begin｜>",               // https://huggingface.co/deepseek-ai/DeepSeek-V3
	"<｜tool▁call▁begin｜>",                // the same, without its head
	"<|tool_calls_section_begin|>",       // https://huggingface.co/moonshotai/Kimi-K2-Instruct
	"<minimax:tool_call>",                // https://huggingface.co/MiniMaxAI/MiniMax-M2
	"<function_calls>",                   // Claude's prompts: https://docs.anthropic.com/en/docs/build-with-claude/tool-use
	"<invoke name=",                      // the same, without its head
	"<|channel|>commentary to=",          // https://cookbook.openai.com/articles/openai-harmony
	"<|start|>assistant<|channel|>comme", // the same, with its head
	"<|action_start|>",                   // https://huggingface.co/internlm/internlm2_5-7b-chat
	"<|START_ACTION|>",                   // https://docs.cohere.com/docs/command-r7b
	"<tool_code>",                        // Gemini
	"```tool_code",                       // Gemma: https://ai.google.dev/gemma/docs/capabilities/function-calling
	"functools[",                         // Phi-4, Firefunction: https://huggingface.co/fireworks-ai/firefunction-v1
}

// Names of the fields of a call that is written as an object.
var (
	nameFields = []string{"action", "tool", "name", "tool_name", "function", "function_name", "recipient_name"}
	argsFields = []string{"action_input", "tool_input", "arguments", "parameters", "args", "input", "params"}
	listFields = []string{"tool_calls", "calls", "tool_uses"}
)

// inText finds a call in a text that is to be an answer, and the words before it. Without
// tools, none may be called, and the mark of a template tells.
func (k kit) inText(text string) (before string, ok bool) {
	if i := markAt(text); i >= 0 && (len(k) == 0 || k.named(text[i:])) {
		return strings.TrimSpace(text[:i]), true
	}
	return "", k.allCalls(unquoted(text)) || k.isPython(unquoted(text))
}

// markAt is where the first mark of a call stands outside of code; -1 without one.
func markAt(text string) int {
	at := -1
	for _, mark := range callMarks {
		i := strings.Index(text, mark)
		if i >= 0 && (at < 0 || i < at) && !inCode(text[:i]) {
			at = i
		}
	}
	return at
}

// inCode says whether what follows a text stands in code.
func inCode(before string) bool {
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return Unfenced(before) != before || strings.Count(line, "`")%2 == 1
}

// named says whether a text has the name of a tool as a word.
func (k kit) named(text string) bool {
	for _, word := range words.FindAllString(text, -1) {
		if _, ok := k.find(word); ok {
			return true
		}
	}
	return false
}

var words = regexp.MustCompile(`[\p{L}\p{N}_-]+`)

// allCalls says whether a text is nothing but calls, as JSON values.
func (k kit) allCalls(text string) bool {
	for d, n := json.NewDecoder(strings.NewReader(text)), 0; ; n++ {
		var v any
		if err := d.Decode(&v); err != nil {
			return n > 0 && errors.Is(err, io.EOF)
		}
		if !k.isCall(v, true) {
			return false
		}
	}
}

// isCall says whether a value is a call of a tool, or a list of calls.
func (k kit) isCall(v any, lists bool) bool {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if !lists || !k.isCall(one, false) {
				return false
			}
		}
		return len(v) > 0
	case map[string]any:
		if inner, ok := v["function"].(map[string]any); ok {
			return k.isCall(inner, false)
		}
		for _, field := range listFields {
			if inner, ok := v[field]; ok && lists {
				return k.isCall(inner, true)
			}
		}
		return k.hasName(v) && hasArgs(v)
	}
	return false
}

func (k kit) hasName(v map[string]any) bool {
	for _, field := range nameFields {
		name, _ := v[field].(string)
		if _, ok := k.find(name[strings.LastIndexAny(name, ".:")+1:]); ok {
			return true
		}
	}
	return false
}

func hasArgs(v map[string]any) bool {
	for _, field := range argsFields {
		if _, ok := v[field]; ok {
			return true
		}
	}
	return false
}

// pythonCall matches a call in Python, and maybe more of them.
var pythonCall = regexp.MustCompile(`(?s)^\[?\s*([\p{L}_][\p{L}\p{N}_]*)\((?:\s*\)|\w+\s*=.*\))\s*\]?$`)

func (k kit) isPython(text string) bool {
	found := pythonCall.FindStringSubmatch(strings.TrimSpace(text))
	if found == nil {
		return false
	}
	_, ok := k.find(found[1])
	return ok
}

// unwritten is a growing answer without an end that may become a call.
func (k kit) unwritten(text string) string {
	if len(k) == 0 {
		return text
	}
	if i := markAt(text); i >= 0 {
		text = text[:i]
	}
	text = withoutBegun(text, callMarks...)
	body, fenced := strings.TrimSpace(text), strings.HasPrefix(text, "```")
	if fenced && strings.Count(text, "```") < 2 {
		_, body, _ = strings.Cut(text, "\n")
	}
	begins := slices.ContainsFunc(k, func(t llm.Tool) bool { return strings.HasPrefix(t.Name, body) || strings.HasPrefix(body, t.Name+"(") })
	if begins || strings.IndexByte("{[", body[0]) >= 0 {
		return ""
	}
	return strings.TrimSpace(text)
}
