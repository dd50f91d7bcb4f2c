package agent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/llm"
	"nod/memory"
)

// said is one completion as a model writes it in each protocol.
type said struct {
	native          llm.Response
	react, numbered string
	meanwhile       string // what ada writes while the model is at work
}

// calls is a native completion with calls.
func calls(thought string, c ...llm.Call) llm.Response {
	return llm.Response{Text: thought, Calls: c, Finish: "tool_calls"}
}

func answers(thought, answer string) llm.Response {
	return llm.Response{Text: answer, Reasoning: thought, Finish: "stop"}
}

func call(name, args string) llm.Call { return llm.Call{Name: name, Args: args} }

// apart leaves out what only a model with function calling can do: to think apart.
var apart = cmpopts.IgnoreFields(memory.Step{}, "Reasoned")

// One meaning makes one log, in each protocol.
func TestSameMeaningSameLog(t *testing.T) {
	t.Parallel()
	hello := said{answers("", "Hello."), "Hello.", "Hello.", ""}
	oslo := said{
		calls("I look.", call("wikipedia_search", `{"entity":"Oslo"}`)),
		"I look.\nAction: wikipedia_search\nAction Input: {'entity': 'Oslo'}\n", " I look.\nAction 1: Search[Oslo]", "",
	}
	city := said{answers("So it is.", "A city."), "Thought: So it is.\nFinal Answer: A city.", "Thought 2: So it is.\nAction 2: Finish[A city.]", ""}
	restart := said{
		calls("I restart it.", call("restart", `{"service":"api","n":2}`)),
		"I restart it.\nAction: Restart\nAction Input: {\"service\": \"api\", \"n\": 2}", "Thought 1: I restart it.\nAction 1: Restart[{\"service\": \"api\", \"n\": 2}]", "",
	}
	tests := []struct {
		name  string
		steps int
		does  []string // asks, or reactions
		says  []said
	}{
		{"an answer at once", 5, []string{"hi"}, []said{hello}},
		{"a call and an answer", 5, []string{"what is Oslo?"}, []said{oslo, city}},
		{"two turns", 5, []string{"what is Oslo?", "hi"}, []said{oslo, city, hello}},
		{"an approved call", 5, []string{"restart it", "✅"}, []said{restart, city}},
		{"a denied call", 5, []string{"restart it", "❌"}, []said{restart, city}},
		{"code", 5, []string{"print"}, []said{{
			calls("", call("python", `{"code":"print('{}')"}`)),
			"Action: python\nAction Input:\n```py\nprint('{}')\n```", "Action 1: Python[print('{}')]", "",
		}, city}},
		{"arguments that end in the middle, and again", 5, []string{"restart it", "✅"}, []said{{
			calls("a", call("restart", `{"service":"a`)), "a\nAction: restart\nAction Input: {\"service\":\"a", "a\nAction 1: Restart[{\"service\":\"a]", "",
		}, restart, city}},
		{"arguments that don't fit", 5, []string{"restart it"}, []said{{
			calls("a", call("restart", `{"service":"api"}`)), "a\nAction: restart\nAction Input: {\"service\": \"api\"}", "a\nAction 1: Restart[{\"service\": \"api\"}]", "",
		}, city}},
		{"a tool that is not there", 5, []string{"browse"}, []said{{
			calls("a", call("browse", `{"url":"x"}`)), "a\nAction: browse\nAction Input: {\"url\": \"x\"}", "a\nAction 1: browse[{\"url\": \"x\"}]", "",
		}, city}},
		{"the same call for the third time", 5, []string{"what is Oslo?"}, []said{oslo, oslo, oslo, city}},
		{"a message meanwhile", 5, []string{"what is Oslo?"}, []said{{oslo.native, oslo.react, oslo.numbered, "and Rome?"}, city}},
		{"a message while the answer is written", 5, []string{"what is Oslo?"}, []said{{city.native, city.react, city.numbered, "and Rome?"}, hello}},
		{"no more calls", 1, []string{"what is Oslo?"}, []said{oslo, {answers("", "A city."), "A city.", "A city.]", ""}}},
		{"nothing, and then an answer", 5, []string{"hi"}, []said{{}, hello}},
		{"nothing twice", 5, []string{"hi"}, []said{{}, {}}},
		{
			"a thought alone, and then an answer", 5,
			[]string{"hi"},
			[]said{{llm.Response{Reasoning: "hm"}, "Thought: hm", "Thought 1: hm", ""}, {answers("", "Hello."), "Final Answer: Hello.", "Finish[Hello.]", ""}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := conversation{tt.steps, tt.does, tt.says}
			native := c.play(t, speak.NativeTools{}, func(s said) llm.Response { return s.native })
			react := c.play(t, speak.React{}, func(s said) llm.Response { return llm.Response{Text: s.react, Finish: "stop"} })
			numbered := c.play(t, speak.Numbered{}, func(s said) llm.Response { return llm.Response{Text: s.numbered, Finish: "stop"} })
			if diff := cmp.Diff(native, react, apart); diff != "" {
				t.Errorf("react (-native +react):\n%s", diff)
			}
			if diff := cmp.Diff(native, numbered, apart); diff != "" {
				t.Errorf("numbered (-native +numbered):\n%s", diff)
			}
		})
	}
}

// shelf are the tools beside the encyclopedia: one by another name too, one
// with several parameters, one for code, one without parameters.
func shelf() []llm.Tool {
	return []llm.Tool{
		{Name: "calculator", Aliases: []string{"calculate"}, Parameters: oneString("expression")},
		{Name: "restart", Parameters: []byte(`{"type":"object","properties":{"service":{"type":"string"},"n":{"type":"integer"}},"required":["service","n"]}`)},
		{Name: "python", Code: "code", Parameters: oneString("code")},
		{Name: "clock", Parameters: []byte(`{"type":"object","properties":{"zone":{"type":"string"}}}`)},
	}
}

type conversation struct {
	steps int
	does  []string
	says  []said
}

// play plays the conversation in one protocol and gives its log.
func (c conversation) play(t *testing.T, p speak.Protocol, form func(said) llm.Response) []memory.Entry {
	t.Helper()
	tools := []policy.Tool{wikipedia(t)[0]}
	for _, tool := range shelf() {
		tools = append(tools, textTool(t, tool))
	}
	tools[0].Advances, tools[2].Risk, tools[2].ReadOnly = false, policy.Ask, false
	tools[2].Rules = memory.Rules{Approvers: []string{"requester"}, Quorum: 1, Timeout: time.Hour, Approve: []string{"✅"}, Deny: []string{"❌"}}
	th := &thread{t: t, agent: &agent.Agent{Instructions: "Be brief.", Protocol: p, MaxSteps: c.steps, Tools: tools}}
	th.model = func(n int) llm.Response {
		if n >= len(c.says) {
			t.Fatalf("%T: the model was called %d times", p, n+1)
		}
		if m := c.says[n].meanwhile; m != "" {
			th.says(m)
		}
		return form(c.says[n])
	}
	th.observe = func(c memory.Call) string { return "the result of " + c.Tool }
	for _, what := range c.does {
		if what == "✅" || what == "❌" {
			th.reacts(what)
		} else {
			th.asks(what)
		}
	}
	if len(th.requests) != len(c.says) {
		t.Errorf("%T: %d model calls, want %d", p, len(th.requests), len(c.says))
	}
	return th.entries
}
