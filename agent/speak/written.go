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

// callMarks begin calls in the templates of models, in any letter case. The name of an
// element may have a prefix: those of MiniMax, Seed and DeepSeek do.
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
	"<toolcall>",                         // https://huggingface.co/nvidia/NVIDIA-Nemotron-Nano-9B-v2
	"<|tool_call>",                       // Gemma 4: https://ai.google.dev/gemma/docs/capabilities/text/function-calling-gemma4
	"<start_function_call>",              // https://ai.google.dev/gemma/docs/functiongemma
	"<|python_start|>",                   // Llama 4
	"<|tool_call_begin|>",                // Kimi, without its head
	"<｜tool_calls_begin｜>",               // https://huggingface.co/stepfun-ai/step3
	"✿FUNCTION✿",                         // https://github.com/QwenLM/Qwen-Agent
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

// restOfHead is what may be left of the head of a call of gpt-oss.
const restOfHead = "to=functions."

// callMark matches a mark at the beginning of a text, and begunTag the end of a growing
// text that may become one.
var (
	callMark = func() *regexp.Regexp {
		var all []string
		for _, mark := range append(callMarks, restOfHead) {
			all = append(all, elementName.ReplaceAllString(regexp.QuoteMeta(mark), `<(?:[\w-]+:|｜DSML｜)?$1`))
		}
		return regexp.MustCompile("^(?i:" + strings.Join(all, "|") + ")")
	}()
	elementName = regexp.MustCompile(`^<(\w)`)
	begunTag    = regexp.MustCompile(`<[\w:|｜▁-]*$`)
)

// inText finds a call in a text that is to be an answer, and the words before it. Without
// tools, none may be called, and the mark of a template tells.
func (k kit) inText(text string) (before string, ok bool) {
	if i := markAt(text); i >= 0 && (len(k) == 0 || k.named(text[i:])) {
		return strings.TrimSpace(text[:i]), true
	}
	if i := actionAt(text); i >= 0 && !inCode(text[:i]) {
		if c := (React{}).Read(k, llm.Response{Text: text[i:]}); len(c.Calls) > 0 && k.named(c.Calls[0].Name) {
			return strings.TrimSpace(text[:i]), true
		}
	}
	text = unquoted(strings.TrimSuffix(strings.TrimSpace(text), "</tool_call>"))
	return "", k.allCalls(text) || k.isPython(text) || k.isElement(text)
}

// labelled matches the label of a call in the prompts of ReAct.
var labelled = regexp.MustCompile(`(?m)^\W{0,3}Action:`)

// actionAt is where such a label stands; -1 without one.
func actionAt(text string) int {
	if !strings.Contains(text, "Action:") { // nearly always
		return -1
	}
	if at := labelled.FindStringIndex(text); at != nil {
		return at[0]
	}
	return -1
}

// markAt is where the first mark of a call stands outside of code; -1 without one.
func markAt(text string) int {
	most := 50 // marks are looked at
	for i := 0; i < len(text) && most > 0; i++ {
		rest := text[i:]
		if strings.IndexByte("<[`\xe2", rest[0]) < 0 && !strings.HasPrefix(rest, "functools[") && !strings.HasPrefix(rest, restOfHead) || !callMark.MatchString(rest) {
			continue
		}
		if most--; !inCode(text[:i]) {
			return i
		}
	}
	return -1
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

// element matches a text that may be one element.
var element = regexp.MustCompile(`(?s)^<([\p{L}_][\p{L}\p{N}_-]*)(?:\s[^<>]*?)?(/?)>`)

// isElement says whether a text is nothing but an element with the name of a tool.
func (k kit) isElement(text string) bool {
	found := element.FindStringSubmatch(text)
	if found == nil {
		return false
	}
	_, ok := k.find(found[1])
	return ok && (len(found[0]) == len(text) && found[2] != "" || strings.HasSuffix(text, "</"+found[1]+">"))
}

// pythonCall matches a call in Python, and maybe more of them.
var pythonCall = regexp.MustCompile(`(?s)^\[?\s*(?:print\()?(?:\w+\.)*([\p{L}_][\p{L}\p{N}_]*)\((?:\s*\)|\w+\s*=.*\))\s*\]?$`)

func (k kit) isPython(text string) bool {
	found := pythonCall.FindStringSubmatch(strings.TrimSpace(text))
	if found == nil {
		return false
	}
	_, ok := k.find(found[1])
	return ok
}

// pythonHead matches what may stand before the name in such a call.
var pythonHead = regexp.MustCompile(`^(?:print\()?(?:\w+\.)*`)

// unwritten is a growing answer without an end that may become a call.
func (k kit) unwritten(text string) string {
	if len(k) == 0 {
		return text
	}
	if i := markAt(text); i >= 0 {
		text = text[:i]
	}
	if i := actionAt(text); i >= 0 {
		text = text[:i]
	}
	if i := strings.LastIndexByte(text, '\n') + 1; strings.HasPrefix("Action:", text[i:]) {
		text = text[:i]
	}
	text = begunTag.ReplaceAllString(withoutBegun(text, callMarks...), "")
	body, fenced := strings.TrimSpace(text), strings.HasPrefix(text, "```")
	if fenced && strings.Count(text, "```") < 2 {
		_, body, _ = strings.Cut(text, "\n")
	}
	name := pythonHead.ReplaceAllString(strings.TrimPrefix(body, "<"), "")
	begins := slices.ContainsFunc(k, func(t llm.Tool) bool {
		return strings.HasPrefix(t.Name, name) || strings.HasPrefix(name, t.Name+"(") || strings.HasPrefix(body, "<"+t.Name)
	})
	for _, head := range []string{"print(", "functions.", restOfHead} {
		begins = begins || strings.HasPrefix(head, body)
	}
	if begins || strings.IndexByte("{[", body[0]) >= 0 {
		return ""
	}
	return strings.TrimSpace(text)
}
