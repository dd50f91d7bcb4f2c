package view

import (
	"slices"
	"testing"
	"time"

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

// The steps of a turn that was stopped took until then: neither the model call that ended
// there nor the read that did says how long it had run.
func TestStoppedTook(t *testing.T) {
	ada := chat.User{ID: "ada"}
	began := []memory.Body{
		memory.Message{Message: chat.Message{From: ada, Text: "go"}},
		memory.Opened{Turn: 1, Name: "1", Requester: ada},
		memory.Step{Turn: 1, N: 1, Seen: 1, Took: 300 * time.Millisecond, Calls: []memory.Call{{ID: "a", Tool: "read", Args: "{}"}}},
	}
	result := func(state chat.CallState, took time.Duration) memory.Body {
		return memory.Result{Call: "a", Tool: "read", State: state, Took: took}
	}
	stopped := memory.Stopped{Turn: 1, By: ada, Seen: 1}
	for name, tt := range map[string]struct {
		bodies []memory.Body // a second apart
		want   time.Duration
	}{
		"a read":                {[]memory.Body{stopped, result(chat.CallCancelled, 0)}, 1300 * time.Millisecond},
		"a model call":          {[]memory.Body{result(chat.CallDone, time.Second), stopped}, 2300 * time.Millisecond},
		"an effect goes on":     {[]memory.Body{memory.Started{Call: "a"}, stopped, result(chat.CallDone, 2*time.Second)}, 2300 * time.Millisecond},
		"people were asked":     {[]memory.Body{memory.Asked{Call: "a"}, stopped, memory.Decided{Call: "a", Outcome: chat.Cancelled}, result(chat.CallCancelled, 0)}, 300 * time.Millisecond},
		"it was not stopped":    {[]memory.Body{result(chat.CallDone, time.Second)}, 1300 * time.Millisecond},
		"an effect is approved": {[]memory.Body{memory.Asked{Call: "a"}, memory.Decided{Call: "a", Outcome: chat.Approved}, stopped, result(chat.CallCancelled, 0)}, 1300 * time.Millisecond},
	} {
		s := thread.New()
		for i, b := range append(slices.Clone(began), tt.bodies...) {
			s.Add(memory.Entry{Seq: uint64(i + 1), At: time.Unix(int64(i), 0), Body: b})
		}
		if got := Steps(s, s.Turns[0], nil).Took; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
