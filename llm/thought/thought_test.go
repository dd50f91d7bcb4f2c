package thought

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// inPieces splits a text that comes in pieces of n runes, and takes back as a caller does.
func inPieces(text string, n int) (answer, thoughts string) {
	s := Splitter{Out: func(a, th string, back bool) {
		if back {
			answer, thoughts = "", thoughts+answer
		}
		answer, thoughts = answer+a, thoughts+th
	}}
	for piece := range slices.Chunk([]rune(text), n) {
		s.Feed(string(piece))
	}
	s.Flush()
	return answer, thoughts
}

func TestSplit(t *testing.T) {
	tests := []struct{ name, in, answer, thought string }{
		{"nothing", "", "", ""},
		{"no thought", "\n 1 < 2, [x] and <b>y</b> ", "\n 1 < 2, [x] and <b>y</b> ", ""},
		{"at the start", "\n<think>\nplan\n</think>\n\nOslo.", "Oslo.", "plan\n"},
		{"white space alone", " \n", " \n", ""},
		{"an empty one", "<think>\n\n</think>\n\nOslo.", "Oslo.", ""},
		{"half a closing tag", "<think>a</thin", "", "a</thin"},
		{"signs inside", "<think>a < b </ c</think>d", "d", "a < b </ c"},
		{"closed, never opened", "They ask for it, so I plan.\n</think>\n\nOslo.", "Oslo.", "They ask for it, so I plan.\n"},
		{"closed first", "</think>\n\nOslo.", "Oslo.", ""},
		{"opened, never closed", "<think>plan, Oslo.", "", "plan, Oslo."},
		{"another word", "<thinking>plan</thinking>Oslo.", "Oslo.", "plan"},
		{"Gemini's word", "<thought>plan</thought>Oslo.", "Oslo.", "plan"},
		{"a word of prompts", "<reasoning>plan</reasoning>\nOslo.", "Oslo.", "plan"},
		{"another case", "<THINK>plan</Think>Oslo.", "Oslo.", "plan"},
		{"attributes and spaces", "<think type=\"deep\" n='3'>plan</think >Oslo.", "Oslo.", "plan"},
		{"an empty element", "<think/>Oslo.", "Oslo.", ""},
		{"a longer word is none", "<thinker>x</thinker>", "<thinker>x</thinker>", ""},
		{"a second one", "<think>one</think>Sure. <think>two</think>Oslo.", "Sure. Oslo.", "one\ntwo"},
		{"behind text", "Okay.<think>\nplan\n</think>\nOslo.", "Okay.\nOslo.", "plan\n"},
		{"closed by another word", "<think>plan</thinking>Oslo.", "Oslo.", "plan"},
		{"one inside of another", "<think>a<thought>b</thought>c</think>Oslo.", "Oslo.", "abc"},
		{"closed twice", "<think>a</think>b</think>Oslo.", "Oslo.", "ab"},
		{"brackets", "[THINK]plan[/THINK]Oslo.", "Oslo.", "plan"},
		{"triangles", "◁think▷plan◁/think▷Oslo.", "Oslo.", "plan"},
		{"special tokens", "<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>Oslo.<|END_RESPONSE|>", "Oslo.", "plan"},
		{"special tokens, older", "<|begin_of_thought|>plan<|end_of_thought|><|begin_of_solution|>Oslo.<|end_of_solution|>", "Oslo.", "plan"},
		{"channels", "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Oslo.<|return|>", "Oslo.", "plan"},
		{"channels, the first is in the prompt", "plan<|end|><|start|>assistant<|channel|>final<|message|>Oslo.", "Oslo.", "plan"},
		{"channels without their tokens", "analysisThey ask.assistantfinalOslo.", "Oslo.", "analysisThey ask."},
		{"a word as of channels", "analysis of the data", "analysis of the data", ""},
		{"words for people beside a thought", "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>", "I look.", "plan"},
		{"channels, an answer that is JSON", "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>{\"a\":1}", "{\"a\":1}", "plan"},
		{"channels without their tokens, a call", "analysisThey ask.assistantcommentary to=functions.find json{\"q\":1}", "<|channel|>commentary to=functions.find json{\"q\":1}", "analysisThey ask."},
		{"channels, two thoughts", "<|channel|>analysis<|message|>one<|end|><|start|>assistant<|channel|>analysis<|message|>two<|end|><|start|>assistant<|channel|>final<|message|>Oslo.", "Oslo.", "one\ntwo"},
		{"Gemma's channel", "<|channel>thought\nplan<channel|>Oslo.", "Oslo.", "plan"},
		{"LongCat's word", "<longcat_think>plan</longcat_think>Oslo.", "Oslo.", "plan"},
		{"Solar's tokens", "<|think|>plan<|end|><|begin|>assistant<|content|>Oslo.", "Oslo.", "plan"},
		{"MedGemma's tokens", "<unused94>thought\nplan<unused95>Oslo.", "Oslo.", "thought\nplan"},
		{"Apertus's tokens", "<|inner_prefix|>plan<|inner_suffix|>Oslo.", "Oslo.", "plan"},
		{"Pangu's tokens", "[unused16]plan[unused17]Oslo.", "Oslo.", "plan"},
		{"an element around the answer", "<think>plan</think>\n<answer>\nOslo.\n</answer>", "Oslo.\n", "plan"},
		{"an element around the answer, Granite", "<think>plan</think><response>Oslo.</response>", "Oslo.", "plan"},
		{"an element without a thought stays", "Write <answer>x</answer>.", "Write <answer>x</answer>.", ""},
		{"in a quote", "> <think>plan\n> more</think>\nOslo.", "> Oslo.", "plan\n> more"},
		{"a closing tag behind a list", "1. They ask\n2. I plan</think>Oslo.", "Oslo.", "1. They ask\n2. I plan"},
		{"another one's closing tag never opened", "They ask.\n</thinking>\nOslo.", "Oslo.", "They ask.\n"},
		{"a tag over two lines", "<think\n  mode='deep'>plan</think>Oslo.", "Oslo.", "plan"},
		{"a tag whose attribute has an angle", "<think note=\"a>b\">plan</think>Oslo.", "Oslo.", "b\">plan"},
		{"thoughts about a tag", "<think>I close with `</think>`.</think>Oslo.", "Oslo.", "I close with ``."},
		{"a call on its channel stays", "<|channel|>commentary to=functions.find <|constrain|>json<|message|>{\"q\":1}<|call|>", "<|channel|>commentary to=functions.find <|constrain|>json<|message|>{\"q\":1}<|call|>", ""},

		{"a closing tag in quotes", "It ends with \"</think>\" or (</think>), “</thinking>” too.", "It ends with \"</think>\" or (</think>), “</thinking>” too.", ""},
		{"a closing tag in a sentence", "It writes </think> when it is done, or </THINK > é.", "It writes </think> when it is done, or </THINK > é.", ""},
		{"a closing tag before a sentence", "I plan. </think> Oslo it is.", "Oslo it is.", "I plan. "},
		{"a closing tag between sentences", "I plan. </think> yes", "yes", "I plan. "},
		{"a closing tag before a line", "I plan </think>\noslo", "oslo", "I plan "},
		{"a closing tag at the end", "I plan </think> ", "", "I plan "},
		{"a closing tag in a sentence ends a thought", "<think>it is </think> done", "done", "it is "},
		{"a closing tag behind a quote", "He said \"no\"</think>\"Oslo.\"", "\"Oslo.\"", "He said \"no\""},
		{"a quoted closing tag ends a thought", "<think>a \"</think>\" Oslo.", "\" Oslo.", "a \""},
		{"in code", "Write `<think>x</think>` there.", "Write `<think>x</think>` there.", ""},
		{"in code of two marks", "Write ``<think>` `` there.", "Write ``<think>` `` there.", ""},
		{"in a block", "So:\n```xml\n<think>x</think>\n```\nDone.", "So:\n```xml\n<think>x</think>\n```\nDone.", ""},
		{"in a block of waves", "~~~\n<think>x\n</think>\n~~~", "~~~\n<think>x\n</think>\n~~~", ""},
		{"behind a block", "```\na\n```\n<think>plan</think>Oslo.", "```\na\n```\nOslo.", "plan"},
		{"a mark alone is no code", "It`s <think>plan</think>\nOslo.", "It`s Oslo.", "plan"},
		{"thoughts that leave a block open", "```py\nx\n</think>\nOslo.", "Oslo.", "```py\nx\n"},
		{"a thought with code", "<think>use `</think>` here</think>Oslo.", "Oslo.", "use `` here"},
		{"half a tag at the end", "1 <thin", "1 <thin", ""},
		{"an open mark at the end", "a `b", "a `b", ""},
	}
	for _, tt := range tests {
		for n := range len(tt.in) + 1 {
			answer, thoughts := inPieces(tt.in, n+1)
			if answer != tt.answer || thoughts != tt.thought {
				t.Errorf("%s, in pieces of %d: answer %q and thought %q, want %q and %q", tt.name, n+1, answer, thoughts, tt.answer, tt.thought)
				break
			}
		}
	}
}

// FuzzSplit holds that pieces make no difference, that no mark is left outside of code,
// and that nothing of the text is lost but marks and white space.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"a</think>b", "<think>a</think>b`c</think>`", "```\n<think>\n```\n</think>", "<|channel|>analysis<|message|>a<|end|>b", "◁think▷a`\n`[/think]",
		"analysisaassistantfinalb", "``` `<think>", "a ` </think> `", "<think a='\n'>", "~~~\n~~~~ \n<think>",
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 1 || len(text) > 4000 || !utf8.ValidString(text) {
			return
		}
		answer, thoughts := inPieces(text, n)
		if a, th := Split(text); a != answer || th != thoughts {
			t.Fatalf("%q in pieces of %d: %q and %q, whole: %q and %q", text, n, answer, thoughts, a, th)
		}
		if got, want := solid(answer+thoughts), solid(anywhere.ReplaceAllString(text, "")); len(got) < len(want) {
			t.Errorf("%q: %q is left, want at least %q", text, got, want)
		}
	})
}

var anywhere = regexp.MustCompile(strings.Replace(signs.String(), "^", "", 1))

// solid leaves out white space, which may be lost beside a tag.
func solid(s string) string { return strings.Join(strings.Fields(s), "") }
