package meter

import (
	"fmt"
	"testing"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Names that come from outside, however many, make no more series of metrics than one
// of each does.
func TestFloodOfNames(t *testing.T) {
	t.Parallel()
	m := New(nil)
	m.Know([]policy.Tool{{Tool: llm.Tool{Name: "clock"}}})
	run := &memory.Run{Log: []memory.Entry{{Body: memory.Stopped{Turn: 1}}}}
	limited := m.Connection("slack").Limited
	flood := func(n int) {
		name := fmt.Sprintf("name %d of a \U0001F480 page", n)
		for _, b := range []memory.Body{
			memory.Step{Model: name, Calls: []memory.Call{{ID: name, Tool: name, Args: name}}},
			memory.Result{Call: name, Tool: name, State: chat.CallFailed, Text: name, Took: 1},
			memory.Result{Call: name, Tool: "clock", State: chat.CallDone, Artifacts: []chat.File{{Name: name, MediaType: name}}, Took: 1},
			memory.Vote{By: chat.User{ID: chat.UserID(name), Name: name}, Reason: name},
			memory.Decided{Call: name, Outcome: chat.Denied, Reason: name},
			memory.Failed{Turn: uint64(n), Reason: name},
			memory.Ended{Turn: uint64(n)},
		} {
			m.Observe(run, memory.Entry{Body: b})
		}
		limited(fmt.Sprintf("POST /channels %d", n))
	}
	flood(1)
	one := series(t, m)
	for n := range 1000 {
		flood(n)
	}
	if many := series(t, m); many > one+1 { // a turn that is stopped, beside those that failed
		t.Errorf("of %d series a thousand names made %d", one, many)
	}
}

// series counts those that are there.
func series(t *testing.T, m *Meter) (n int) {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetName()) > 4 && f.GetName()[:4] == "nod_" {
			n += len(f.GetMetric())
		}
	}
	return n
}
