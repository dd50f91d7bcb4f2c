package memory_test

import (
	"testing"

	"nod/chat"
	"nod/memory"
)

// What may be on the disk a moment later is what can be asked, read or looked for
// again: not what a person did, nor what came of a side effect.
func TestSoon(t *testing.T) {
	calls := memory.Step{Turn: 1, Calls: []memory.Call{{ID: "1.0", Tool: "act"}}}
	result := memory.Result{Call: "1.0", Tool: "act", State: chat.CallDone}
	opened, started := memory.Entry{Seq: 2, Body: memory.Opened{Turn: 1}}, memory.Entry{Seq: 4, Body: memory.Started{Call: "1.0"}}
	for _, tt := range []struct {
		what string
		log  []memory.Entry
		say  []memory.Body
		want bool
	}{
		{"what arrived", nil, nil, true},
		{"what is posted", nil, []memory.Body{memory.Posted{Key: "answer/1"}, memory.Ended{Turn: 1}}, true},
		{"a step that calls", nil, []memory.Body{memory.Posted{}, calls}, true},
		{"a step that answers", nil, []memory.Body{memory.Step{Turn: 1, Answer: "noon"}}, false},
		{"a result of a read", []memory.Entry{opened, {Seq: 3, Body: calls}}, []memory.Body{result}, true},
		{"a result of a side effect", []memory.Entry{opened, {Seq: 3, Body: calls}, started}, []memory.Body{result}, false},
		{"another call's", []memory.Entry{opened, started}, []memory.Body{memory.Result{Call: "1.1"}}, true},
		{"a turn", nil, []memory.Body{memory.Opened{Turn: 1}}, false},
		{"a card", nil, []memory.Body{memory.Asked{Call: "1.0"}}, false},
		{"a side effect", nil, []memory.Body{memory.Started{Call: "1.0"}}, false},
		{"one of them among others", nil, []memory.Body{memory.Posted{}, memory.Decided{Call: "1.0"}}, false},
	} {
		if got := memory.Soon(tt.log, tt.say...); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
