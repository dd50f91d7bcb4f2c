package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// pensive is a platform that takes ten seconds to find out who may approve.
type pensive struct{ *script.Board }

// Possible implements run.Members.
func (p pensive) Possible(ctx context.Context, thread chat.ThreadID, rule string) bool {
	time.Sleep(10 * time.Second)
	return p.Board.Possible(ctx, thread, rule)
}

// A tool is switched off while nod looks up who may approve its call, or while it reads:
// the call has its result, so nobody is asked, and no second result follows.
func TestSwitchedOffMeanwhile(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]policy.Tool{"approval": tool("act", false), "read": tool("act", true)} {
		if !act.ReadOnly {
			act.Risk = policy.Ask
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
					time.Sleep(10 * time.Second)
					return llm.Result{Text: "done"}, nil
				}, act)
				w.runner.Platforms["board"] = pensive{w.board}
				w.model.Add("call act {}")
				w.model.Add("expect switched off\nsay It is off.")
				w.start()
				for _, text := range []string{"act", "tools off act"} {
					if err := w.say(text); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				w.stop()
				got := kinds(t, store, w.thread)
				if strings.Contains(got, "asked") || strings.Count(got, "result") != 1 || len(w.board.Approvals()) > 0 {
					t.Errorf("the store has %s; people saw\n%s", got, strings.Join(w.board.Lines(), "\n"))
				}
			})
		})
	}
}
