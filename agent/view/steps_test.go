package view

import (
	"testing"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// A terminal addresses its person as you, if the system has no name for them.
func TestRanByYou(t *testing.T) {
	plain := func(s string) string { return s }
	for name, want := range map[string]string{"you": "you run deploy {}", "ada": "ada runs deploy {}"} {
		c := &thread.Call{Call: memory.Call{Tool: "deploy", Args: "{}"}}
		u := &thread.Turn{Steps: []*thread.Step{{By: &chat.User{ID: "u", Name: name}, Calls: []*thread.Call{c}}}}
		if got := ranText(u, plain); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		c.Result = &memory.Result{State: chat.CallDone}
		if got := ranText(u, plain); got != name+" ran deploy {}" {
			t.Errorf("when it is over: %q", got)
		}
	}
}
