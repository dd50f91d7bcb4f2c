package meter

import (
	"context"
	"errors"
	"iter"
	"maps"
	"testing"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// waiting is a store in which approvals wait.
type waiting struct {
	asked map[string]memory.Entry // by thread
	err   error
	reads int
}

func (w *waiting) Pending(context.Context, string) iter.Seq2[memory.PendingApproval, error] {
	return func(yield func(memory.PendingApproval, error) bool) {
		if w.err != nil {
			yield(memory.PendingApproval{}, w.err)
			return
		}
		for root := range w.asked {
			if !yield(memory.PendingApproval{Thread: chat.ThreadID{Root: root}, Call: "c", Due: time.Now()}, nil) {
				return
			}
		}
	}
}

func (w *waiting) Tail(_ context.Context, t chat.ThreadID, _ uint64) (memory.Tail, error) {
	w.reads++
	return memory.Tail{Log: []memory.Entry{w.asked[t.Root]}}, nil
}

// The oldest approval of each tool is told. Each thread is read once, and few at a time.
func TestOldest(t *testing.T) {
	t.Parallel()
	m := New(nil)
	m.Know([]policy.Tool{{Tool: llm.Tool{Name: "deploy"}}})
	now := time.Unix(1000, 0)
	w := &waiting{asked: map[string]memory.Entry{
		"a": {At: time.Unix(900, 0), Body: memory.Asked{Call: "c", Tool: "deploy"}},
		"b": {At: time.Unix(700, 0), Body: memory.Asked{Call: "c", Tool: "deploy"}},
		"c": {At: time.Unix(990, 0), Body: memory.Asked{Call: "c", Tool: "words of a model"}},
		"d": {At: time.Unix(100, 0), Body: memory.Asked{Call: "another", Tool: "deploy"}},
	}}
	o := oldest{m: m, store: w}
	for range 2 {
		if got, want := o.look(t.Context(), []string{"slack"}, now), (map[string]float64{"deploy": 300, "unknown": 10}); !maps.Equal(got, want) || w.reads != 4 {
			t.Errorf("%v after %d reads, want %v", got, w.reads, want)
		}
	}
	delete(w.asked, "b")
	if got := o.look(t.Context(), []string{"slack"}, now); got["deploy"] != 100 || len(o.asked) != 3 {
		t.Errorf("after a decision: %v of %v", got, o.asked)
	}
	for i := range 2 * mostReads {
		w.asked[string(rune('A'+i))+"x"] = w.asked["a"]
	}
	w.reads = 0
	o.look(t.Context(), []string{"slack"}, now)
	if w.reads != mostReads {
		t.Errorf("one look read %d threads", w.reads)
	}
	w.err = errors.New("away")
	if got := o.look(t.Context(), []string{"slack"}, now); got != nil {
		t.Errorf("without the store: %v", got)
	}
}
