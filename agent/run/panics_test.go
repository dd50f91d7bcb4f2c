package run_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"nod/agent/speak"
	"nod/llm"
	"nod/memory"
)

// bad is a model or a protocol that has a mistake in it.
type bad struct {
	llm.Model
	speak.Protocol
	on string
}

// Complete implements llm.Model.
func (b bad) Complete(ctx context.Context, r llm.Request, hear func(llm.Delta)) (llm.Response, error) {
	if b.on == "model" && strings.Contains(r.Messages[len(r.Messages)-1].Text, "bad") {
		panic("a mistake in the client")
	}
	return b.Model.Complete(ctx, r, hear)
}

// Read implements speak.Protocol.
func (b bad) Read(offered []llm.Tool, r llm.Response) speak.Completion {
	if b.on == "protocol" && strings.Contains(r.Text, "bad") {
		panic("a mistake in the parser")
	}
	return b.Protocol.Read(offered, r)
}

// A panic anywhere is one failed action, told once, and the next question is
// answered.
func TestPanics(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"model", "protocol", "tool"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { panic("a mistake in the tool") }, tool("act", true))
				b := bad{w.model, speak.NativeTools{}, on}
				w.runner.Model, w.runner.Agent.Protocol = b, b
				want := "notice I could not answer: there is a mistake in me. Whoever runs me finds it in the log."
				switch on {
				case "tool":
					w.model.Add("call act {}")
					w.model.Add("expect The tool failed inside\nsay It failed.")
					want = "answer It failed.\nsteps Done: act failed"
				case "protocol":
					w.model.Add("say something bad")
				}
				w.model.Add("say Hello.")
				w.start()
				for _, text := range []string{"something bad", "hello"} {
					if err := w.say(text); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second) // by the bubble's clock: steps are folded a moment later
				}
				w.stop()
				wantLines(t, w.board, want, "answer Hello.")
			})
		})
	}
}
