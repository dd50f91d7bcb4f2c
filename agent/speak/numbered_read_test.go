package speak_test

import (
	"strings"
	"testing"

	"nod/agent/speak"
	"nod/llm"
)

var numberedOdd = []odd{
	// As it should be.
	{"the paper's form", "Thought 1: I look.\nAction 1: Search[Oslo]", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"going on behind the prompt's label", " I look.\nAction 1: Search[Oslo]", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"the answer", "Thought 2: It is.\nAction 2: Finish[SUPPORTS]", `thinks It is. | answers SUPPORTS`},
	{"behind the prompt's Action 1:", " Search[Oslo]", `calls wikipedia_search {"entity":"Oslo"}`},
	{"the answer behind the prompt's Action 1:", "Finish[yes]", `answers yes`},
	{"several parameters", `Action 1: Restart[{"service": "api", "n": 1}]`, `calls restart {"service":"api","n":1}`},

	// Labels.
	{"a blank line between", "Thought 3: I look.\n\nAction 3: Search[Oslo]", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"no numbers", "Thought: I look.\nAction: Search[Oslo]", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"other numbers", "Thought 7: I look.\nAction 9: Search[Oslo]", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"no space before the number", "Thought1: I look.\nAction1: Search[Oslo]", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"lower case", "thought 1: a\naction 1: search[Oslo]", `thinks a | calls wikipedia_search {"entity":"Oslo"}`},
	{"bold", "**Thought 1:** a\n**Action 1:** Search[Oslo]", `thinks a | calls wikipedia_search {"entity":"Oslo"}`},
	{"Chinese", "思考1：查\n行动1：Search[奥斯陆]", `thinks 查 | calls wikipedia_search {"entity":"奥斯陆"}`},
	{"Final Answer instead of Finish", "Thought 1: a\nFinal Answer: 42", `thinks a | answers 42`},
	{"the other protocol's form", "Thought: a\nAction: wikipedia_search\nAction Input: Oslo", `thinks a | calls wikipedia_search {"entity":"Oslo"}`},

	// Names.
	{"the tool's own name", "Action 1: wikipedia_search[Oslo]", `calls wikipedia_search {"entity":"Oslo"}`},
	{"its alias", "Action 1: Calculate[1 + 1]", `calls calculator {"expression":"1 + 1"}`},
	{"a space before the bracket", "Action 1: Search [Oslo]", `calls wikipedia_search {"entity":"Oslo"}`},
	{"a tool that is not on stays as written", "Action 1: Lookup[x]", `calls Lookup x`},
	{"no tool and no brackets", "Thought 2: b\nAction 2: Login", `thinks b | calls Login {}`},
	{"an unknown name in front of the brackets", "Action 1: Search Wikipedia[Oslo]", `calls Search Wikipedia Oslo`},

	// Brackets.
	{"nested brackets", "Action 1: Search[Oslo [the city]]", `calls wikipedia_search {"entity":"Oslo [the city]"}`},
	{"prose behind", "Action 1: Search[Oslo] to see what it is [or not]", `calls wikipedia_search {"entity":"Oslo"}`},
	{"quotes", `Action 1: Search["Oslo"]`, `calls wikipedia_search {"entity":"Oslo"}`},
	{"not closed: it does not run", "Action 1: Search[Oslo", `calls wikipedia_search [Oslo`},
	{"only the bracket behind an object is missing", `Action 1: Restart[{"service": "api", "n": 1}`, `calls restart {"service":"api","n":1}`},
	{"an object that is not closed does not run", `Action 1: Restart[{"service": "api]`, `calls restart {"service": "api`},
	{"a bracket in a string of the object", `Action 1: Restart[{"service": "a]b", "n": 1}]`, `calls restart {"service":"a]b","n":1}`},
	{"text where an object is needed does not run", "Action 1: Restart[api]", `calls restart api`},
	{"parentheses", `Action 1: Search("Oslo")`, `calls wikipedia_search {"entity":"Oslo"}`},
	{"a colon", "Action 1: Search: Oslo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"no input", "Action 1: Clock[]", `calls clock {}`},
	{"no brackets for a tool without parameters", "Action 1: Clock", `calls clock {}`},
	{"code", "Action 1: Python[" + ticks + "py\nx = [1]]\n" + ticks + "]", `calls python {"code":"x = [1]]"}`},
	{"code without a fence", "Action 1: Python[x = [1]]", `calls python {"code":"x = [1]"}`},

	// Answers.
	{"lines in the answer", "Action 2: Finish[one\n\ntwo]", `answers one⏎⏎two`},
	{"a link in the answer", "Action 2: Finish[see [here](https://x.example/[1])]", `answers see [here](https://x.example/[1])`},
	{"a bracket too many belongs to the answer", "Action 2: Finish[(0, 1]]", `answers (0, 1]`},
	{"prose behind the answer", "Action 2: Finish[yes] because [it is]", `answers yes`},
	{"an answer that is not closed", "Action 2: Finish[yes", `answers yes`},
	{"an answer in quotes", `Action 2: Finish["NOT ENOUGH INFO"]`, `answers NOT ENOUGH INFO`},
	{"lower case", "action 2: finish[yes]", `answers yes`},
	{"an empty answer is none", "Thought 2: hm\nAction 2: Finish[]", `thinks hm`},

	// Several of them.
	{"an invented observation", "Thought 1: a\nAction 1: Search[Oslo]\nObservation 1: a city\nThought 2: b\nAction 2: Finish[yes]", `thinks a | calls wikipedia_search {"entity":"Oslo"}`},
	{"an action that rests on an invented observation", "Thought 1: a\nObservation 1: x\nAction 1: Search[Oslo]", `thinks a`},
	{"two actions: the second did not wait", "Thought 1: a\nAction 1: Search[Oslo]\nThought 2: b\nAction 2: Finish[yes]", `thinks a | calls wikipedia_search {"entity":"Oslo"}`},
	{"an answer and the next question", "Action 2: Finish[yes]\n\nQuestion: and now?\nThought 1: x\nAction 1: Search[y]", `answers yes`},
	{"the word Observation in a line is no label", "Thought 1: The Observation: it says so.\nAction 1: Finish[yes]", `thinks The Observation: it says so. | answers yes`},
	{"two thoughts", "Thought 1: a\nThought 1: b\nAction 1: Search[Oslo]", `thinks a⏎b | calls wikipedia_search {"entity":"Oslo"}`},

	// Neither.
	{"nothing", "", ``},
	{"no label: the answer", "Hello! How can I help?", `answers Hello! How can I help?`},
	{"no label, and brackets that are no tool's", "array[0] is the first.", `answers array[0] is the first.`},
	{"a bare thought", "Thought 1: I should look.", `thinks I should look.`},
	{"a bare thought of several lines", "Thought 1: I should look.\nAnd then see.", `thinks I should look.⏎And then see.`},
	{"an action label without an action", "Thought 1: hm\nAction 1:", `thinks hm`},
	{"no action by name", "Thought 1: hm\nAction 1: None", `thinks hm`},
	{"the thinking in the text", "<think>a</think>\nAction 1: Search[Oslo]", `thinks a | calls wikipedia_search {"entity":"Oslo"}`},
}

func TestNumberedReads(t *testing.T) {
	t.Parallel()
	for _, tt := range numberedOdd {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			checkOdd(t, speak.Numbered{}, tt)
		})
	}
}

// The names of the paper are for its own tools, unless another has the name.
func TestNumberedNames(t *testing.T) {
	t.Parallel()
	one := func(name string) llm.Tool { return llm.Tool{Name: name, Parameters: oneString("q")} }
	tools := []llm.Tool{one("wikipedia_search"), one("wikipedia_lookup"), one("search"), one("finish"), one("run_it"), one("runit")}
	tests := []odd{
		{"the tool that is called so", "Action 1: Search[x]", `calls search {"q":"x"}`},
		{"the paper's, by its own name", "Action 1: Wikipedia_search[x]", `calls wikipedia_search {"q":"x"}`},
		{"the paper's", "Action 1: Lookup[x]", `calls wikipedia_lookup {"q":"x"}`},
		{"Finish is no tool", "Action 1: Finish[x]", `answers x`},
		{"but this one is", "Action 1: Tool_finish[x]", `calls finish {"q":"x"}`},
		{"two of nearly the same name", "Action 1: Tool_run_it[x]", `calls run_it {"q":"x"}`},
		{"which of the two is not clear", "Action 1: RUN-IT[x]", `calls RUN-IT x`},
	}
	for _, tt := range tests {
		if got := meaning(speak.Numbered{}.Read(tools, llm.Response{Text: tt.text})); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.why, got, tt.want)
		}
	}
	frame := speak.Numbered{}.Frame(tools)
	for _, want := range []string{"(1) Wikipedia_search[q]", "(2) Lookup[q]", "(3) Search[q]", "(4) Tool_finish[q]", "(7) Finish[answer]", "Action 2: Wikipedia_search[Danube]"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the frame lacks %q:\n%s", want, frame)
		}
	}
	if frame := (speak.Numbered{}).Frame([]llm.Tool{one("run_it")}); strings.Contains(frame, "Danube") || !strings.Contains(frame, "Action 1: Finish[") {
		t.Errorf("examples with tools that are off:\n%s", frame)
	}
}

func FuzzNumbered(f *testing.F) {
	for _, tt := range numberedOdd {
		f.Add(tt.text, false)
	}
	f.Fuzz(func(t *testing.T, text string, length bool) {
		checkReading(t, speak.Numbered{}, text, length)
	})
}
