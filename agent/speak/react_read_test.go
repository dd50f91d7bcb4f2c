package speak_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"nod/agent/speak"
	"nod/llm"
	"nod/llm/args"
)

// shelf are the tools of the tables: one that takes a text, one by another
// name too, one with several parameters, one for code, one without parameters.
func shelf() []llm.Tool {
	return []llm.Tool{
		{Name: "wikipedia_search", HumanName: "the encyclopedia", Aliases: []string{"wikipedia"}, Parameters: oneString("entity")},
		{Name: "calculator", Aliases: []string{"calculate"}, Parameters: oneString("expression")},
		{Name: "restart", Parameters: []byte(`{"type":"object","properties":{"service":{"type":"string"},"n":{"type":"integer"}},"required":["service","n"]}`)},
		{Name: "python", Code: "code", Parameters: oneString("code")},
		{Name: "clock", Parameters: []byte(`{"type":"object","properties":{"zone":{"type":"string"}}}`)},
	}
}

// meaning writes a completion down in a line: thought, calls, answer.
func meaning(c speak.Completion) string {
	var out []string
	if c.Thought != "" {
		out = append(out, "thinks "+c.Thought)
	}
	for _, k := range c.Calls {
		out = append(out, "calls "+k.Name+" "+k.Args)
	}
	if c.Answer != "" {
		out = append(out, "answers "+c.Answer)
	}
	return strings.ReplaceAll(strings.Join(out, " | "), "\n", "⏎")
}

// odd is a completion that is not as the prompt asked, and what is made of it.
type odd struct {
	why, text, want string
}

const ticks = "```"

var reactOdd = []odd{
	// As it should be.
	{"the template", "I look.\nAction: wikipedia_search\nAction Input: {\"entity\": \"Oslo\"}\n", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"the template, with its own Thought", "Thought: I look.\nAction: wikipedia_search\nAction Input: {\"entity\": \"Oslo\"}", `thinks I look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"the answer", "I now know the final answer\nFinal Answer: Oslo.\n\nIt is big.", `thinks I now know the final answer | answers Oslo.⏎⏎It is big.`},

	// Labels.
	{"lower case", "thought: a\naction: clock\naction input: {}", `thinks a | calls clock {}`},
	{"upper case", "ACTION: clock\nACTION INPUT: {}", `calls clock {}`},
	{"a label without its space", "Action:clock\nActionInput:{}", `calls clock {}`},
	{"an underscore in the label", "Action: clock\nAction_Input: {}", `calls clock {}`},
	{"numbered labels, as in the other protocol", "Thought 1: a\nAction 1: clock\nAction Input 1: {}\nObservation 1: x", `thinks a | calls clock {}`},
	{"Input alone, behind an action", "Action: clock\nInput: {}", `calls clock {}`},
	{"Input alone is a line like any other elsewhere", "Set it so:\nInput: 5\nOutput: 6", `answers Set it so:⏎Input: 5⏎Output: 6`},
	{"bold labels", "**Thought:** a\n**Action:** clock\n**Action Input:** {}", `thinks a | calls clock {}`},
	{"bold labels, the colon outside", "**Thought**: a\n**Action**: `clock`\n**Action Input**: {}", `thinks a | calls clock {}`},
	{"a line bold as a whole", "**Final Answer: 42**", `answers 42`},
	{"headings", "### Thought\na\n### Action\nclock\n### Action Input\n{}\n", `thinks a | calls clock {}`},
	{"a heading with a colon", "## Final Answer:\n42", `answers 42`},
	{"a heading Answer in an answer is one of its headings", "First this.\n## Answer\n42", `answers First this.⏎## Answer⏎42`},
	{"indented labels", "  Thought: a\n  Action: clock\n  Action Input: {}", `thinks a | calls clock {}`},
	{"Windows line ends", "a\r\nAction: clock\r\nAction Input: {}\r\n", `thinks a | calls clock {}`},
	{"Chinese labels", "思考：查一下\n行动：wikipedia_search\n行动输入：{\"entity\": \"奥斯陆\"}\n观察：编造的", `thinks 查一下 | calls wikipedia_search {"entity":"奥斯陆"}`},
	{"Chinese labels, other words", "想法: 好\n动作: clock\n动作输入: {}\n观察结果: 编造的", `thinks 好 | calls clock {}`},
	{"traditional characters", "思考：好\n行動：clock\n行動輸入：{}\n觀察：編造的", `thinks 好 | calls clock {}`},
	{"a Chinese answer", "思考: 我知道了\n最终答案：奥斯陆", `thinks 我知道了 | answers 奥斯陆`},
	{"a full-width colon", "Thought： a\nAction： clock\nAction Input： {}", `thinks a | calls clock {}`},
	{"everything on one line", `I should look. Action: wikipedia_search Action Input: {"entity": "Oslo"}`, `thinks I should look. | calls wikipedia_search {"entity":"Oslo"}`},
	{"the answer on the thought's line", "Thought: I know. Final Answer: 42", `thinks I know. | answers 42`},
	{"the action on the thought's line", "Thought: I look. Action: clock\nAction Input: {}", `thinks I look. | calls clock {}`},
	{"all of it in a code fence", ticks + "\nThought: a\nAction: clock\nAction Input: {}\n" + ticks, `thinks a | calls clock {}`},
	{"the question repeated first", "Question: when?\nThought: a\nAction: clock\nAction Input: {}", `thinks a | calls clock {}`},
	{"a label in a code block is text", "Final Answer: write\n" + ticks + "yaml\nthought: x\naction: deploy\naction input: y\n" + ticks + "\nand go.", "answers write⏎" + ticks + "yaml⏎thought: x⏎action: deploy⏎action input: y⏎" + ticks + "⏎and go."},

	// One line.
	{"tool and input on one line", "Action: calculate: 4 * 7 / 3", `calls calculator {"expression":"4 * 7 / 3"}`},
	{"as a function", `Action: wikipedia_search("Oslo")`, `calls wikipedia_search {"entity":"Oslo"}`},
	{"in brackets", "Action: wikipedia_search[Oslo [city]]", `calls wikipedia_search {"entity":"Oslo [city]"}`},
	{"an object behind the name", `Action: restart {"service": "api", "n": 1}`, `calls restart {"service":"api","n":1}`},
	{"an object on the next line", "Action: restart\n{\"service\": \"api\", \"n\": 1}", `calls restart {"service":"api","n":1}`},
	{"both labels on one line", `Action: restart, Action Input: {"service": "api", "n": 1}`, `calls restart {"service":"api","n":1}`},
	{"one object for tool and input", "Action:\n" + ticks + "json\n{\"action\": \"restart\", \"action_input\": {\"service\": \"api\", \"n\": 1}}\n" + ticks, `calls restart {"service":"api","n":1}`},
	{"no input at all", "Action: clock", `calls clock {}`},
	{"a function call that is not closed does not run", `Action: wikipedia_search("Os`, `calls wikipedia_search ("Os`},
	{"a space alone ends no name: nothing says what is the input", "Action: wikipedia_search the web", `calls wikipedia_search the web {}`},

	// Names.
	{"another letter case", "Action: Wikipedia Search\nAction Input: Oslo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"joined otherwise", "Action: WIKIPEDIA-SEARCH\nAction Input: Oslo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"what people call it", "Action: the encyclopedia\nAction Input: Oslo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"quotes and a full stop around the name", "Action: \"wikipedia\".\nAction Input: Oslo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"a note behind the name", "Action: clock (for the time)\nAction Input: {}", `calls clock {}`},
	{"an unknown tool stays as written, for the model to be told", "Action: browse\nAction Input: {\"url\": \"x\"}", `calls browse {"url":"x"}`},
	{"nearly a tool's name is not its name", "Action: calculators\nAction Input: 1", `calls calculators 1`},
	{"no action by name, and no answer", "Thought: nothing to do\nAction: None\nAction Input: None", `thinks nothing to do`},
	{"no action by name, and an answer", "Thought: easy\nAction: None\nFinal Answer: 42", `thinks easy | answers 42`},
	{"the answer as an action", "Thought: I know\nAction: Final Answer\nAction Input: 42", `thinks I know | answers 42`},
	{"the paper's Finish", "Thought: I know\nAction: Finish[42]", `thinks I know | answers 42`},
	{"an empty action", "Thought: hm\nAction:\nAction Input: {}", `thinks hm`},
	{"an input without an action", "Thought: hm\nAction Input: {\"n\": 1}", `thinks hm`},

	// Inputs.
	{"bare text for the only text", "Action: wikipedia_search\nAction Input: Oslo, the city", `calls wikipedia_search {"entity":"Oslo, the city"}`},
	{"quoted text", "Action: wikipedia_search\nAction Input: \"Oslo\"", `calls wikipedia_search {"entity":"Oslo"}`},
	{"single quotes and Python's words", "Action: restart\nAction Input: {'service': 'api', 'n': 1, 'x': True}", `calls restart {"service":"api","n":1,"x":true}`},
	{"fenced JSON", "Action: restart\nAction Input:\n" + ticks + "json\n{\"service\": \"api\", \"n\": 1}\n" + ticks, `calls restart {"service":"api","n":1}`},
	{"prose behind the object", "Action: restart\nAction Input: {\"service\": \"api\", \"n\": 1}\n\nThis restarts it.", `calls restart {"service":"api","n":1}`},
	{"a second object is dropped", "Action: clock\nAction Input: {\"zone\": \"UTC\"}\n{\"zone\": \"CET\"}", `calls clock {"zone":"UTC"}`},
	{"JSON cut off is never completed: it does not run", "Action: restart\nAction Input: {\"service\": \"api", `calls restart {"service": "api`},
	{"text where an object is needed does not run", "Action: restart\nAction Input: api", `calls restart api`},
	{"None for a tool that needs nothing", "Action: clock\nAction Input: None", `calls clock {}`},
	{"a quoted piece behind the object does not run", "Action: clock\nAction Input: {\"zone\": \"UTC\"} 'x': 1}", `calls clock {"zone": "UTC"} 'x': 1}`},
	{"fenced code", "Action: python\nAction Input: " + ticks + "py\nprint(\"a\")\n\nx = {1}\n" + ticks + "\n", `calls python {"code":"print(\"a\")\n\nx = {1}"}`},
	{"prose around fenced code", "Action: python\nAction Input: Here it is:\n" + ticks + "python\nprint(1)\n" + ticks + "\nThat prints 1.", `calls python {"code":"print(1)"}`},
	{"bare code", "Action: python\nAction Input: print({1: 2})", `calls python {"code":"print({1: 2})"}`},
	{"code that begins like an object", "Action: python\nAction Input: {1: 2}[1]", `calls python {"code":"{1: 2}[1]"}`},
	{"code as an object", "Action: python\nAction Input: {\"code\": \"print(1)\"}", `calls python {"code":"print(1)"}`},
	{"code as an object in a fence", "Action: python\nAction Input: " + ticks + "json\n{\"code\": \"print(1)\"}\n" + ticks, `calls python {"code":"print(1)"}`},
	{"an object of code that is cut off does not run", "Action: python\nAction Input: {\"code\": \"print(1", `calls python {"code": "print(1`},
	{"a fence that is not closed does not run", "Action: python\nAction Input:\n" + ticks + "py\nrm()\nif x:", "calls python " + ticks + "py⏎rm()⏎if x:"},

	// Several of them.
	{"an invented observation", "Action: clock\nAction Input: {}\nObservation: noon\nThought: I know\nFinal Answer: noon", `calls clock {}`},
	{"an invented observation on the input's line", "Action: wikipedia_search\nAction Input: Oslo Observation: a city", `calls wikipedia_search {"entity":"Oslo"}`},
	{"an invented observation in other letters", "Action: clock\nAction Input: {}\n**observation**: noon\nFinal Answer: noon", `calls clock {}`},
	{"two actions, the second thought better of", "Action: clock\nAction: wikipedia_search\nAction Input: Oslo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"two actions with inputs: the last, as in the sources", "a\nAction: clock\nAction Input: {}\nThought: b\nAction: calculator\nAction Input: 1+1", `thinks a⏎b | calls calculator {"expression":"1+1"}`},
	{"a second action without an input is not finished", "Action: wikipedia_search\nAction Input: Oslo\nAction: clo", `calls wikipedia_search {"entity":"Oslo"}`},
	{"an action and then an answer that can't know its result", "Action: clock\nAction Input: {}\nFinal Answer: noon", `calls clock {}`},
	{"an answer and then the next question, played through", "Final Answer: 42\n\nQuestion: and now?\nThought: I look\nAction: clock\nAction Input: {}", `answers 42`},
	{"an answer and then an action", "Final Answer: I did it.\nAction: restart\nAction Input: {\"service\": \"api\", \"n\": 1}", `answers I did it.`},
	{"an answer with lines like labels", "Final Answer: The minutes:\nAction: Bob writes\nQuestion: who reads?\nAnswer: Ada", `answers The minutes:⏎Action: Bob writes⏎Question: who reads?⏎Answer: Ada`},
	{"two answers: the one said again", "Final Answer: perhaps 41\nFinal Answer: 42", `answers 42`},
	{"the answer twice, with its thought", "Final Answer: 42\nThought: I now know the final answer\nFinal Answer: 42", `answers 42`},
	{"a plain Answer", "I think so.\nAnswer: 42", `thinks I think so. | answers 42`},
	{"a plain Answer before an action is a thought", "Answer: let me look\nAction: clock\nAction Input: {}", `calls clock {}`},

	// Neither.
	{"nothing", "", ``},
	{"spaces", " \n\t", ``},
	{"no label: the answer", "Hello! How can I help?", `answers Hello! How can I help?`},
	{"a bare thought", "Thought: I should look that up.", `thinks I should look that up.`},
	{"only an invented observation", "Observation: noon", ``},
	{"an action that rests on an invented observation", "I look.\nObservation: noon\nAction: clock\nAction Input: {}", `thinks I look.`},
	{"a thought and an invented observation", "I should look.\nObservation: noon", `thinks I should look.`},
	{"an empty answer", "Thought: hm\nFinal Answer:", `thinks hm`},
	{"the thinking in the text", "<think>\nlet me see\n</think>\n\nFinal Answer: 42", `thinks let me see | answers 42`},
	{"only the end of the thinking", "let me see\n</think>\n\n42 it is.", `thinks let me see | answers 42 it is.`},
	{"the thinking in brackets, in the answer", "Final Answer: [THINK]plan[/THINK] 42", `thinks plan | answers 42`},
	{"the thinking on a channel", "<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>Final Answer: 42", `thinks plan | answers 42`},
	{"the thinking on Gemma's channel", "<|channel>thought\nplan<channel|>Final Answer: 42", `thinks plan | answers 42`},
	{"thinking that never ends behind the answer", "Final Answer: 42\n<THINK mode=x>plan", `thinks plan | answers 42`},
	{"an answer that was only thought of", "Final Answer: plan\n</think>\nFinal Answer: 42", `thinks Final Answer: plan | answers 42`},
	{"an action that was only thought of", "<think>Action: restart\nAction Input: {\"service\": \"api\", \"n\": 1}</think>Hello.", "thinks Action: restart⏎Action Input: {\"service\": \"api\", \"n\": 1} | answers Hello."},
	{"the template's end mark", "Final Answer: 42<|im_end|>\n<|im_start|>user", `answers 42`},
}

func TestReactReads(t *testing.T) {
	t.Parallel()
	for _, tt := range reactOdd {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			checkOdd(t, speak.React{}, tt)
		})
	}
}

func checkOdd(t *testing.T, p speak.Protocol, tt odd) {
	t.Helper()
	c := p.Read(shelf(), llm.Response{Text: tt.text, Finish: "stop"})
	if got := meaning(c); got != tt.want {
		t.Errorf("%q\n got %s\nwant %s", tt.text, got, tt.want)
	}
	if !strings.HasSuffix(tt.why, "does not run") {
		return
	}
	for _, k := range c.Calls {
		if raw, err := args.Native(k.Args); err == nil {
			t.Errorf("%q runs with %s", tt.text, raw)
		}
	}
}

// A completion cut off by the token limit, or a content filter, runs only if it is
// visibly complete.
func TestCutOff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		protocol speak.Protocol
		odd
	}{
		{speak.React{}, odd{"half a text", "a\nAction: wikipedia_search\nAction Input: Osl", `thinks a`}},
		{speak.React{}, odd{"perhaps half a name, and no input", "a\nAction: clock", `thinks a`}},
		{speak.React{}, odd{"half a program", "a\nAction: python\nAction Input: rm(", `thinks a`}},
		{speak.React{}, odd{"half an object", "a\nAction: restart\nAction Input: {\"service\"", `thinks a | calls restart {"service"`}},
		{speak.React{}, odd{"a whole object", "a\nAction: clock\nAction Input: {}", `thinks a | calls clock {}`}},
		{speak.React{}, odd{"whole before what was cut", "a\nAction: wikipedia_search\nAction Input: Oslo\nObserv", `thinks a`}},
		{speak.React{}, odd{"whole before an invented observation", "a\nAction: wikipedia_search\nAction Input: Oslo\nObservation: a ci", `thinks a | calls wikipedia_search {"entity":"Oslo"}`}},
		{speak.React{}, odd{"a whole program", "a\nAction: python\nAction Input: " + ticks + "\nprint(1)\n" + ticks, `thinks a | calls python {"code":"print(1)"}`}},
		{speak.Numbered{}, odd{"half a text", "Thought 1: a\nAction 1: Search[Osl", `thinks a | calls wikipedia_search [Osl`}},
		{speak.Numbered{}, odd{"perhaps half a name", "Thought 1: a\nAction 1: Clock", `thinks a`}},
		{speak.Numbered{}, odd{"a whole text", "Thought 1: a\nAction 1: Search[Oslo]", `thinks a | calls wikipedia_search {"entity":"Oslo"}`}},
		{speak.Numbered{}, odd{"half an answer is what there is", "Thought 1: a\nAction 1: Finish[Os", `thinks a | answers Os`}},
	}
	for _, tt := range tests {
		for _, finish := range []string{"length", "content_filter"} {
			got := meaning(tt.protocol.Read(shelf(), llm.Response{Text: tt.text, Finish: finish}))
			if got != tt.want {
				t.Errorf("%T, %s, %s:\n got %s\nwant %s", tt.protocol, finish, tt.why, got, tt.want)
			}
		}
	}
}

// Behind the last prompt only the answer is written: tools are gone.
func TestLastWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		protocol speak.Protocol
		odd
	}{
		{speak.React{}, odd{"the answer", "It is 42.", `answers It is 42.`}},
		{speak.React{}, odd{"with its label again", "Thought: so\nFinal Answer: It is 42.", `thinks so | answers It is 42.`}},
		{speak.React{}, odd{"and then an action all the same", "I don't know.\nAction: clock\nAction Input: {}", `answers I don't know.`}},
		{speak.React{}, odd{"with lines like labels", "Minutes:\nAction: Bob writes\nAnswer: yes", `answers Minutes:⏎Action: Bob writes⏎Answer: yes`}},
		{speak.React{}, odd{"only an action", "Thought: no\nAction: clock\nAction Input: {}", `thinks no`}},
		{speak.Numbered{}, odd{"the rest of Finish[", "It is 42.]", `answers It is 42.`}},
		{speak.Numbered{}, odd{"and the next question", " 42]\n\nQuestion: and now?\nThought 1: x", `answers 42`}},
		{speak.Numbered{}, odd{"with brackets in it", "a [link](x) and b[0]]\nmore", `answers a [link](x) and b[0]`}},
		{speak.Numbered{}, odd{"the whole action again", "Action 3: Finish[It is 42.]", `answers It is 42.`}},
		{speak.Numbered{}, odd{"Finish again, without its label", "Finish[It is 42.]", `answers It is 42.`}},
		{speak.Numbered{}, odd{"a tool all the same", "Thought 3: no\nAction 3: Search[x]", `thinks no`}},
		{speak.Numbered{}, odd{"nothing", "]", ``}},
		{speak.Numbered{}, odd{"an answer that never was in brackets", "It is 42.", `answers It is 42.`}},
	}
	for _, tt := range tests {
		got := meaning(tt.protocol.Read(nil, llm.Response{Text: tt.text, Finish: "stop"}))
		if got != tt.want {
			t.Errorf("%T, %s:\n got %s\nwant %s", tt.protocol, tt.why, got, tt.want)
		}
	}
}

// Reasoning that came apart is the thought where the text has none, and is
// never read for actions.
func TestTextReasoning(t *testing.T) {
	t.Parallel()
	for _, p := range []speak.Protocol{speak.React{}, speak.Numbered{}} {
		tests := []struct{ text, want string }{
			{"Hello.", "thinks hm | answers Hello."},
			{"Thought: so\nFinal Answer: Hello.", "thinks so | answers Hello."},
			{"", "thinks hm"},
		}
		for _, tt := range tests {
			if got := meaning(p.Read(shelf(), llm.Response{Text: tt.text, Reasoning: " hm\n"})); got != tt.want {
				t.Errorf("%T, %q: got %s, want %s", p, tt.text, got, tt.want)
			}
		}
		got := meaning(p.Read(shelf(), llm.Response{Reasoning: "Action: Clock[]\nAction Input: {}"}))
		if strings.Contains(got, "calls") {
			t.Errorf("%T: %s", p, got)
		}
	}
}

func TestGrowing(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, react, numbered string }{
		{"", "", ""},
		{"I look up", "I look up", "I look up"},
		{"Tho", "", ""},
		{"Thought 1: I look up", "I look up", "I look up"},
		{"I look.\nAct", "I look.", "I look."},
		{"I look.\n**Final An", "I look.", "I look."},
		{"I look.\n最终", "I look.", "I look."},
		{"I look.\nActually", "I look.\nActually", "I look."}, // it may become Actually[
		{"I look.\nActually not", "I look.\nActually not", "I look.\nActually not"},
		{"I look.\nAction: clock\nAction Input: {}", "I look.", "I look."},
		{"I look. Observ", "I look.", "I look."},
		{"I look. Observation: x", "I look.", "I look. Observation: x"},
		{"I look.\nObservation 1: x", "I look.", "I look."},
		{"I look. Final Answer: x", "I look.", "I look."},
		{"Search", "Search", ""},
		{"Search[x", "Search[x", ""},
		{"**Thought: so*", "so", "so"},
		{"```\nThought: a b", "a b", "a b"},
	}
	for _, tt := range tests {
		if got := (speak.React{}).Growing(tt.text); got != tt.react {
			t.Errorf("react, %q: %q, want %q", tt.text, got, tt.react)
		}
		if got := (speak.Numbered{}).Growing(tt.text); got != tt.numbered {
			t.Errorf("numbered, %q: %q, want %q", tt.text, got, tt.numbered)
		}
	}
}

// As an answer nothing is shown but what will be it, whatever follows.
func TestAnswering(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, react, numbered string }{
		{"", "", ""},
		{"It is 42", "", ""}, // an action may follow
		{"Thought: I know.\nFinal Ans", "", ""},
		{"Thought: I know.\nFinal Answer: It is", "It is", "It is"},
		{"Final Answer: It is\n- one\n- tw", "It is\n- one\n- tw", "It is\n- one\n- tw"},
		{"Final Answer: It is.\nQuest", "It is.", "It is."}, // the model may play on
		{"Final Answer: It is.\nObservation: no", "It is.", "It is."},
		{"Final Answer: so\nFinal Answer: better", "better", "better"},
		{"Action: clock\nAction Input: {}\nFinal Answer: 3", "", ""},
		{"Answer: so", "", "so"}, // an action behind it would count in react
		{"Hm. Final Answer: 3", "", ""},
		{"```\nFinal Answer: x", "", ""}, // a block of code that may be closed
		{"<think>Final Answer: x", "", ""},
		{"<think>Final Answer: x</think>\nFinal Answer: y", "y", "y"},
		{"Thought 1: so.\nAction 1: Finish[It is [4", "", "It is [4"},
		{"Action 1: Finish[It is [42].]", "", "It is [42]."},
		{"Action 1: Search[x]\nAction 2: Finish[y", "", ""},
		{"Action 1: Fini", "", ""},
	}
	for _, tt := range tests {
		if got := (speak.React{}).Answering(shelf(), tt.text); got != tt.react {
			t.Errorf("react, %q: %q, want %q", tt.text, got, tt.react)
		}
		if got := (speak.Numbered{}).Answering(shelf(), tt.text); got != tt.numbered {
			t.Errorf("numbered, %q: %q, want %q", tt.text, got, tt.numbered)
		}
	}
}

func FuzzReact(f *testing.F) {
	for _, tt := range reactOdd {
		f.Add(tt.text, false)
	}
	f.Fuzz(func(t *testing.T, text string, length bool) {
		checkReading(t, speak.React{}, text, length)
		if strings.Contains(text, "Observation:") {
			before, _, _ := strings.Cut(text, "Observation:")
			whole := speak.React{}.Read(shelf(), llm.Response{Text: text})
			if part := (speak.React{}).Read(shelf(), llm.Response{Text: before + "Observation:"}); !strings.Contains(text, "</think>") && meaning(whole) != meaning(part) {
				t.Errorf("what stands behind the stop word counts: %s, and without it %s", meaning(whole), meaning(part))
			}
		}
	})
}

// checkReading holds for every protocol and text.
func checkReading(t *testing.T, p interface {
	speak.Protocol
	speak.Grower
}, text string, length bool,
) {
	t.Helper()
	finish := "stop"
	if length {
		finish = "length"
	}
	c := p.Read(shelf(), llm.Response{Text: text, Finish: finish})
	if len(c.Calls) > 1 || len(c.Calls) == 1 && c.Answer != "" {
		t.Errorf("%d calls, and the answer %q", len(c.Calls), c.Answer)
	}
	if len(c.Calls) > 0 && !acts(text) {
		t.Errorf("a call where no action is written: %s", meaning(c))
	}
	for _, k := range c.Calls {
		if k.ID != "" || k.Name == "" {
			t.Errorf("call %+v", k)
		}
		raw, err := args.Native(k.Args)
		if err == nil && known(k.Name) && (k.Name != "python" || strings.HasPrefix(string(raw), `{"code":`)) {
			checkAgain(t, p, written(p, k.Name, string(raw)), "calls "+k.Name+" "+string(raw))
		}
	}
	if c.Answer != "" {
		checkAgain(t, p, "Final Answer: "+c.Answer, "answers "+c.Answer)
	}
	if again := p.Read(nil, llm.Response{Text: text, Finish: finish}); len(again.Calls) > 0 {
		t.Errorf("a call without tools: %s", meaning(again))
	}
	if !utf8.ValidString(text) || len(text) > 1000 {
		return // every beginning is read: long ones take too long
	}
	shown := ""
	for i := range text {
		now := p.Growing(text[:i])
		if !strings.HasPrefix(now, shown) {
			t.Fatalf("%q was shown, and then %q, at %q", shown, now, text[:i])
		}
		shown = now
		if a := p.Answering(shelf(), text[:i]); a != "" && len(c.Calls) > 0 {
			t.Fatalf("%q was shown as the answer at %q, and then %s", a, text[:i], meaning(c))
		}
	}
}

// checkAgain reads what was read, written as it should have been.
func checkAgain(t *testing.T, p speak.Protocol, text, want string) {
	t.Helper()
	if got := meaning(p.Read(shelf(), llm.Response{Text: text})); got != strings.ReplaceAll(want, "\n", "⏎") {
		t.Errorf("%q is read as %s, want %s", text, got, want)
	}
}

// written is a call as a protocol's prompt shows it.
func written(p speak.Protocol, tool, args string) string {
	if _, numbered := p.(speak.Numbered); numbered {
		return "Action 1: " + tool + "[" + args + "]"
	}
	return "Action: " + tool + "\nAction Input: " + args
}

func known(tool string) bool {
	return slices.ContainsFunc(shelf(), func(t llm.Tool) bool { return t.Name == tool })
}

// acts says whether there is anything in a text that may be an action's label,
// or a tool's name with a bracket.
func acts(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"action", "行动", "行動", "动作", "動作", "["} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func ExampleReact_Growing() {
	fmt.Println(speak.React{}.Growing("I have to look that up.\nAction: wikip"))
	// Output: I have to look that up.
}
