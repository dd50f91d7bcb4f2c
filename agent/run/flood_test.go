package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// While a thread is stuck in as much as one completion of its model may ask for, and in
// more, another thread is answered, with what a tool says.
func TestFloodHoldsUpNobody(t *testing.T) {
	t.Parallel()
	ask := tool("act", false)
	ask.Risk = policy.Ask
	for name, flood := range map[string]struct {
		tool policy.Tool
		runs int // how many of a hundred calls are under way
		open int // how many approvals wait
	}{
		"reads":        {tool("act", true), 8, 0},
		"side effects": {tool("act", false), 1, 0},
		"approvals":    {ask, 0, 16},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) { stuck(t, store, flood.tool, flood.runs, flood.open) })
		})
	}
}

func stuck(t *testing.T, store memory.Full, act policy.Tool, runs, open int) {
	free := make(chan struct{})
	under := make(chan struct{}, 200)
	w := newWorld(t, store, func(ctx context.Context, c llm.Call) (llm.Result, error) {
		if c.Name == "look" {
			return llm.Result{Text: "ok"}, nil
		}
		under <- struct{}{}
		select {
		case <-free:
		case <-ctx.Done():
		}
		return llm.Result{Text: "ok"}, nil
	}, act, tool("look", true))
	var calls []string
	for i := range 100 {
		calls = append(calls, fmt.Sprintf("call act {\"n\":%d}", i))
	}
	w.model.Add(strings.Join(calls, "\n"))
	w.model.Add("call look {}")
	w.model.Add("say I am here.")
	w.start()
	if err := w.say("flood"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Minute) // less than anything of the flood waits for
	synctest.Wait()
	if n := len(under); n != runs {
		t.Errorf("%d calls are under way", n)
	}
	if n := len(w.board.Approvals()); n != open {
		t.Errorf("%d approvals wait", n)
	}
	other := chat.ThreadID{Platform: "board", Channel: "c2", Root: "2"}
	m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c2", ID: "2"}, From: chat.User{ID: "bob", Name: "bob"}, Text: "hello"}
	if _, err := w.inbox.Message(t.Context(), other, m, "hello"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	synctest.Wait()
	if said := strings.Join(w.board.Lines(), "\n"); !strings.Contains(said, "answer I am here.") {
		t.Errorf("the other thread has no answer; people saw:\n%s", said)
	}
	w.model.Add("say Done.")
	close(free)
	w.stop()
}
