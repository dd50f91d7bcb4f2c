// Package tooltest is what tools are tested with: a box to call them through, the
// files that strangers might send, and servers that misbehave.
package tooltest

import (
	"cmp"
	"encoding/json"
	"testing"

	"nod/chat"
	"nod/llm"
	"nod/tools"
)

// Make makes the tools of some keys.
func Make(t testing.TB, keys tools.Keys) []tools.Tool {
	t.Helper()
	made, err := keys.Make(t.Context(), tools.Host{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Tools
}

// Box makes a box of tools that have to fit into one. Those that say no risk get one, as
// from the program.
func Box(t testing.TB, list ...tools.Tool) *tools.Box {
	t.Helper()
	for i := range list {
		list[i].Risk = cmp.Or(list[i].Risk, tools.Ask)
	}
	box, err := tools.NewBox(list...)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

// Run calls a tool through a box, as the program does. A failure that is the
// operator's ends the test.
func Run(t testing.TB, tool tools.Tool, args any) llm.Result {
	t.Helper()
	got, err := Call(t, tool, args)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Call gives the operator's error too.
func Call(t testing.TB, tool tools.Tool, args any) (llm.Result, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	thread := chat.ThreadID{Platform: "terminal", Channel: "c"}
	return Box(t, tool).Call(t.Context(), chat.Desk{Thread: thread, Key: "k"}, llm.Call{Name: tool.Name, Args: string(raw)})
}
