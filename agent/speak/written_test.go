package speak_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/speak"
	"nod/llm"
)

// A call that the model wrote into its text is no answer, in any template's form. What
// only speaks of calls is one.
func TestWrittenCalls(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "find"}, {Name: "clock"}}
	written := func(thought string) speak.Completion { return speak.Completion{Thought: thought, Written: true} }
	answers := func(text string) speak.Completion { return speak.Completion{Answer: text} }
	for _, tt := range []struct {
		name, text string
		want       speak.Completion
	}{
		{"Hermes", "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"q\": \"x\"}}\n</tool_call>", written("")},
		{"Hermes, two, the first behind words", "I look.\n<tool_call>{\"name\": \"find\"}</tool_call><tool_call>{\"name\": \"clock\"}</tool_call>", written("I look.")},
		{"cut off", "<tool_call>{\"name\": \"find\", \"argu", written("")},
		{"Qwen's elements", "<tool_call>\n<function=find>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>", written("")},
		{"GLM", "<tool_call>find\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>", written("")},
		{"Llama", "<|python_tag|>{\"name\": \"find\", \"parameters\": {\"q\": \"x\"}}", written("")},
		{"Llama, in Python", "<|python_tag|>find.call(q=\"x\")", written("")},
		{"Llama, by its function", "<function=find>{\"q\": \"x\"}</function>", written("")},
		{"Mistral", "[TOOL_CALLS] [{\"name\": \"find\", \"arguments\": {\"q\": \"x\"}}]", written("")},
		{"DeepSeek", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", written("")},
		{"Kimi", "<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>", written("")},
		{"gpt-oss", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.find <|constrain|>json<|message|>{\"q\":\"x\"}<|call|>", speak.Completion{Thought: "hm", Reasoned: true, Written: true}},
		{"Claude's elements", "<function_calls>\n<invoke name=\"find\">\n<parameter name=\"q\">x</parameter>\n</invoke>\n</function_calls>", written("")},
		{"Gemma", "```tool_code\nprint(default_api.find(q=\"x\"))\n```", written("")},
		{"Phi", "functools[{\"name\": \"find\", \"arguments\": {}}]", written("")},
		{"an object", " {\"name\": \"find\", \"arguments\": {\"q\": \"x\"}}\n", written("")},
		{"an object in a fence", "```json\n{\"tool\": \"functions.find\", \"args\": {}}\n```", written("")},
		{"an object as on the wire", "{\"type\": \"function\", \"function\": {\"name\": \"find\", \"arguments\": \"{}\"}}", written("")},
		{"objects", "[{\"name\": \"find\", \"input\": {}}, {\"name\": \"clock\", \"input\": {}}]", written("")},
		{"objects on lines", "{\"name\": \"find\", \"parameters\": {}}\n{\"name\": \"clock\", \"parameters\": {}}", written("")},
		{"a list of calls by name", "{\"tool_calls\": [{\"name\": \"find\", \"arguments\": {}}]}", written("")},
		{"an action", "{\"action\": \"find\", \"action_input\": \"x\"}", written("")},
		{"Python", "[find(q=\"x\"), clock()]", written("")},
		{"Python, alone", "find(q=\"x\")", written("")},

		{"Hermes, without the opening tag", "{\"name\": \"find\", \"arguments\": {\"q\": \"x\"}}\n</tool_call>", written("")},
		{"Hermes, in capitals", "<TOOL_CALL>{\"name\": \"find\"}</TOOL_CALL>", written("")},
		{"Gemma 4", "<|tool_call>call:find{q:<|\"|>x<|\"|>}<tool_call|>", written("")},
		{"FunctionGemma", "<start_function_call>call:find{q:<escape>x<escape>}<end_function_call>", written("")},
		{"Qwen's older words", "✿FUNCTION✿: find\n✿ARGS✿: {\"q\": \"x\"}", written("")},
		{"DeepSeek 3.2", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"find\">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>", written("")},
		{"Kimi, without the section", "<|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{}<|tool_call_end|>", written("")},
		{"Seed", "<seed:tool_call>\n<function=find>\n<parameter=q>x</parameter>\n</function>\n</seed:tool_call>", written("")},
		{"Nemotron", "<TOOLCALL>[{\"name\": \"find\", \"arguments\": {}}]</TOOLCALL>", written("")},
		{"Llama 4", "<|python_start|>[find(q=\"x\")]<|python_end|>", written("")},
		{"Mistral, newer", "[TOOL_CALLS]find[ARGS]{\"q\": \"x\"}", written("")},
		{"Command-R", "Action: ```json\n[{\"tool_name\": \"find\", \"parameters\": {}}]\n```", written("")},
		{"Step", "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>find\n{}", written("")},
		{"gpt-oss, without its tokens", "analysisThey ask.assistantcommentary to=functions.find json{\"q\":\"x\"}", speak.Completion{Thought: "analysisThey ask.", Reasoned: true, Written: true}},
		{"gpt-oss, the rest of a head", "to=functions.find <|constrain|>json<|message|>{\"q\":\"x\"}<|call|>", written("")},
		{"an element with the tool's name", "<find>\n<q>x</q>\n</find>", written("")},
		{"an empty element with the tool's name", "<find q=\"x\" />", written("")},
		{"labels of ReAct", "Action: find\nAction Input: {\"q\": \"x\"}", written("")},
		{"Python in print", "```python\nprint(find(q=\"x\"))\n```", written("")},
		{"Python of a module", "functions.find(q=\"x\")", written("")},
		{"prefixed elements", "<x:function_calls>\n<x:invoke name=\"find\">\n</x:invoke>\n</x:function_calls>", written("")},
		{"behind one in code", "Not `<tool_call>`:\n<tool_call>{\"name\": \"find\"}</tool_call>", written("Not `<tool_call>`:")},

		{"an object by the name of a tool", "{\"find\": {\"q\": \"x\"}}", answers("{\"find\": {\"q\": \"x\"}}")},
		{"an element among words", "Put <find> there.", answers("Put <find> there.")},
		{"an element of another name", "<b>x</b>", answers("<b>x</b>")},
		{"another label", "Action: none needed.", answers("Action: none needed.")},
		{"another tool", "<tool_call>{\"name\": \"deploy\"}</tool_call>", answers("<tool_call>{\"name\": \"deploy\"}</tool_call>")},
		{"an object of another tool", "{\"name\": \"deploy\", \"arguments\": {}}", answers("{\"name\": \"deploy\", \"arguments\": {}}")},
		{"an object that is no call", "{\"name\": \"find\", \"price\": 3}", answers("{\"name\": \"find\", \"price\": 3}")},
		{"in code", "Write `<tool_call>find</tool_call>`.", answers("Write `<tool_call>find</tool_call>`.")},
		{"in a block", "So:\n```\n<tool_call>find</tool_call>\n```", answers("So:\n```\n<tool_call>find</tool_call>\n```")},
		{"an object among words", "It is {\"name\": \"find\", \"arguments\": {}}.", answers("It is {\"name\": \"find\", \"arguments\": {}}.")},
		{"words about it", "find (the command) looks it up", answers("find (the command) looks it up")},
		{"numbers", "[1, 2]", answers("[1, 2]")},
	} {
		if diff := cmp.Diff(tt.want, speak.NativeTools{}.Read(tools, llm.Response{Text: tt.text})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		// Nothing of it is shown while it grows.
		for i := range tt.text {
			got := speak.NativeTools{}.Answering(tools, tt.text[:i])
			if tt.want.Written && len(got) > len(tt.want.Thought) && !tt.want.Reasoned {
				t.Errorf("%s: grows to %q", tt.name, got)
				break
			}
		}
	}
	const last = "<tool_call>{\"name\": \"find\"}</tool_call>"
	if got := (speak.NativeTools{}).Read(nil, llm.Response{Text: last}); !got.Written {
		t.Errorf("without tools: %+v", got)
	}
}
