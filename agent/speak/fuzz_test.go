package speak_test

import (
	"strings"
	"testing"

	"nod/agent/speak"
	"nod/llm"
)

// FuzzCompletion wraps words into the forms in which models leave thoughts and calls in a
// text. Nothing is posted that is a thought or a call, and no word for people is lost.
func FuzzCompletion(f *testing.F) {
	thoughts := [][2]string{
		{"<think>", "</think>"},
		{"", "</think>\n"},
		{"<Thinking type=\"x\">\n", "\n</THINKING>"},
		{"[THINK]", "[/THINK]"},
		{"◁think▷", "◁/think▷"},
		{"<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"},
		{"<think>a</think><reasoning>", "</reasoning>"},
		{"", ""},
	}
	calls := [][2]string{
		{"<tool_call>{\"name\": \"find\", \"arguments\": {\"q\": \"", "\"}}</tool_call>"},
		{"{\"name\": \"find\", \"arguments\": {\"q\": \"", "\"}}"},
		{"[TOOL_CALLS][{\"name\": \"find\", \"arguments\": {\"q\": \"", "\"}}]"},
		{"find(q=\"", "\")"},
	}
	for i := range 4 * len(thoughts) {
		f.Add(uint(i), uint(i/3), "let me see", "It is Oslo.", "in `code` too")
	}
	f.Fuzz(func(t *testing.T, form, call uint, secret, said, more string) {
		const mark = "SECRETPLAN"
		if strings.ContainsAny(secret+said+more, "<>[]{}|◁▷`~\"\\\r()#*") && more != "in `code` too" {
			return // a sign of its own
		}
		tag := thoughts[form%uint(len(thoughts))]
		text := said + "\n" + more
		if tag[1] != "" {
			text = tag[0] + mark + secret + tag[1] + text
		}
		tools := []llm.Tool{{Name: "find"}}
		got := speak.NativeTools{}.Read(tools, llm.Response{Text: text})
		if strings.Contains(got.Answer, mark) {
			t.Errorf("%q posts a thought: %q", text, got.Answer)
		}
		if want := strings.Join(strings.Fields(text[strings.LastIndex(text, tag[1])+len(tag[1]):]), " "); tag[1] != "" && !strings.HasPrefix(want, "find") && !strings.EqualFold(strings.Join(strings.Fields(got.Answer), " "), want) {
			t.Errorf("%q: the answer is %q, want %q", text, got.Answer, want)
		}
		for i := range text { // as it grows, but for a closing tag that nothing opened
			if grown := (speak.NativeTools{}).Answering(tools, text[:i]); tag[1] == "" && !strings.HasPrefix(strings.TrimSpace(text), grown) {
				t.Errorf("%q grows to %q", text[:i], grown)
			}
		}
		k := calls[call%uint(len(calls))]
		written := k[0] + "x7" + k[1]
		if tag[1] != "" {
			written = tag[0] + mark + tag[1] + written
		}
		if got := (speak.NativeTools{}).Read(tools, llm.Response{Text: written}); got.Answer != "" || !got.Written {
			t.Errorf("%q posts a call: %+v", written, got)
		}
	})
}
