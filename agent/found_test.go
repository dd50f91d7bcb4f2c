package agent

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/llm"
	"nod/llm/args"
)

// A call that use_tool spells enters the log byte for byte as the call itself does, in
// all protocols. The card, the digest and all that follows come of the log.
func TestUseToolIsASpelling(t *testing.T) {
	t.Parallel()
	const name = "git_create_issue"
	tool := policy.Tool{Hidden: true, Risk: policy.Ask, Tool: llm.Tool{Name: name, Parameters: json.RawMessage(
		`{"type":"object","properties":{"title":{"type":"string"},"size":{"type":"number"},"of":{"type":"object"},"to":{"type":"string"}},"required":["title"]}`)}}
	schema, err := args.Compile(tool.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	tool.Schema = schema
	set := policy.Set{policy.Search(), tool}
	spell := map[string]func(name, args string) llm.Response{
		"tools": func(name, args string) llm.Response { return llm.Response{Calls: []llm.Call{{Name: name, Args: args}}} },
		"react": func(name, args string) llm.Response {
			return llm.Response{Text: "Thought: so\nAction: " + name + "\nAction Input: " + args}
		},
		"numbered": func(name, args string) llm.Response {
			return llm.Response{Text: "so\nAction 1: " + name + "[" + args + "]"}
		},
	}
	for key, p := range map[string]speak.Protocol{"tools": speak.NativeTools{}, "react": speak.React{}, "numbered": speak.Numbered{}} {
		a := &Agent{Protocol: p, Tools: set}
		shown := []llm.Tool{set[0].Tool, tool.Tool, {Name: policy.UseTool, Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}}}`)}}
		for _, in := range []string{
			`{"title":"a"}`, `{ "title" : "a < b & \u00e9", "size": 1.50 }`, `{"size":1e3,"of":{"b":[1,2],"a":null},"title":"x"}`,
			`{"title":"x","to":null}`, `{"title":7}`, `{}`, `{"title":"[]{}\n"}`,
		} {
			c := do.Call{Turn: 1, N: 1, Tools: shown}
			want := a.Step(c, spell[key](name, in), 0).Calls
			got := a.Step(c, spell[key](policy.UseTool, fmt.Sprintf(`{"name": %q, "arguments": %s}`, name, in)), 0).Calls
			if diff := cmp.Diff(want, got); diff != "" || len(got) != 1 {
				t.Errorf("%s %s: (-direct +found)\n%s", key, in, diff)
			}
		}
		text, _ := json.Marshal(`{"title":"a"}`) // some models write the object as a text
		got := a.Step(do.Call{Tools: shown}, spell[key](policy.UseTool, fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, text)), 0).Calls
		if len(got) != 1 || got[0].Args != `{"title":"a"}` || got[0].Tool != name {
			t.Errorf("%s: arguments as a text become %v", key, got)
		}
	}
}
