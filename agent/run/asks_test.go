package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// One person has 32 approvals waiting at most, in all threads together; whoever else
// asks is asked for as before.
func TestTooManyApprovals(t *testing.T) {
	bubble(t, func(t *testing.T, store memory.Full) {
		deploy := tool("deploy", false)
		deploy.Risk = agent.Ask
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{}, nil }, deploy)
		w.runner.Model = asker{}
		w.start()
		defer w.stop()
		for i, who := range []string{"ada", "ada", "ada", "ben"} {
			w.thread.Root = fmt.Sprint(i)
			m := chat.Message{
				Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: fmt.Sprint(i)}, From: chat.User{ID: chat.UserID(who), Name: who}, Text: "deploy all",
			}
			if _, err := w.inbox.Message(t.Context(), w.thread, m, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // in the bubble's time
			synctest.Wait()
		}
		lines := strings.Join(w.board.Lines(), "\n")
		if n := strings.Count(lines, "ask deploy"); n != 48 {
			t.Errorf("%d approvals, want 32 of ada and 16 of ben:\n%s", n, lines)
		}
		if !strings.Contains(lines, "answer denied: too many approvals wait") {
			t.Errorf("ada is not told:\n%s", lines)
		}
	})
}

// asker is a model that wants sixteen things done, and then says what came of it.
type asker struct{}

func (asker) Complete(_ context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == llm.ToolRole {
		return llm.Response{Text: last.Text, Finish: "stop"}, nil
	}
	r := llm.Response{Finish: "tool_calls"}
	for i := range 16 {
		r.Calls = append(r.Calls, llm.Call{ID: fmt.Sprint(i), Name: "deploy", Args: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return r, nil
}
