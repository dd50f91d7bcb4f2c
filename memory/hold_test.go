package memory_test

import (
	"testing"

	"nod/chat"
	"nod/memory"
)

// What nobody outside knows of may be held, and nothing else.
func TestHolds(t *testing.T) {
	t.Parallel()
	log := []memory.Entry{{Seq: 1, Body: memory.Opened{Turn: 1}}, {Seq: 2, Body: memory.Started{Call: "began"}}}
	calls := memory.Step{Calls: []memory.Call{{ID: "read"}}}
	ref := chat.MessageRef{Platform: "p", Channel: "c", ID: "1"}
	for name, tt := range map[string]struct {
		bodies []memory.Body
		want   bool
	}{
		"nothing":                    {nil, false},
		"a turn that began":          {[]memory.Body{memory.Opened{Turn: 1}}, true},
		"calls":                      {[]memory.Body{memory.Opened{Turn: 1}, calls}, true},
		"what was read":              {[]memory.Body{memory.Result{Call: "read"}}, true},
		"what a side effect came to": {[]memory.Body{memory.Result{Call: "began"}}, false},
		"an answer":                  {[]memory.Body{calls, memory.Step{Answer: "done"}}, true},
		"an answer that stands":      {[]memory.Body{memory.Posted{Key: "answer/1", Ref: ref}, memory.Ended{Turn: 1}}, true},
		"a card that stands":         {[]memory.Body{memory.Posted{Key: memory.AskName("read"), Ref: ref}}, false},
		"what is asked":              {[]memory.Body{memory.Asked{Call: "read"}}, false},
		"a side effect that begins":  {[]memory.Body{memory.Started{Call: "read"}}, false},
		"a vote":                     {[]memory.Body{memory.Vote{Call: "read"}}, false},
		"a decision":                 {[]memory.Body{memory.Decided{Call: "read"}}, false},
		"a cut":                      {[]memory.Body{memory.Trimmed{Before: 2}, memory.Opened{Turn: 1}}, false},
	} {
		if got := memory.Holds(log, tt.bodies...); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
