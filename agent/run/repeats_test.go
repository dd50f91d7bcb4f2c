package run_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/do"
	"nod/llm"
	"nod/memory"
)

// A rule that records the same for ever ends its turn with a word, and the operator is
// told once. The next question is answered.
func TestARuleThatRecordsForEver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			return llm.Result{Text: "done"}, nil
		}, tool("act", false))
		w.model.Add("call act {}")
		w.model.Add("say Hello.")
		var log bytes.Buffer
		w.runner.Log = slog.New(slog.NewTextHandler(&log, nil))
		a := w.runner.Agent
		n := 0
		w.runner.DecideBy(func(l *agent.Log) do.Action {
			if open := l.Thread.Open; open != nil && open.Failed == nil && open.LastStep() != nil && len(open.LastStep().Calls) > 0 {
				if n++; n > 1000 {
					panic("nothing ends it") // only a failing test comes here
				}
				return do.Record{Bodies: []memory.Body{memory.Reminded{Call: open.LastStep().Calls[0].ID}}}
			}
			return a.Next(l)
		})
		w.start()
		for _, text := range []string{"act", "hello"} {
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // by the bubble's clock
		}
		w.stop()
		wantLines(t, w.board, "notice I could not go on: something in me failed again and again. Whoever runs me finds the cause in the log.", "steps Failed: act cancelled", "answer Hello.")
		if said := strings.Count(log.String(), "level=ERROR"); said != 1 {
			t.Errorf("the operator was told %d times:\n%s", said, log.String())
		}
	})
}

// Where no turn is to blame the thread stands still until something comes.
func TestARuleThatRecordsForEverWithoutATurn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		var log bytes.Buffer
		w.runner.Log = slog.New(slog.NewTextHandler(&log, nil))
		n := 0
		w.runner.DecideBy(func(l *agent.Log) do.Action {
			if n++; n > 1000 {
				panic("nothing ends it")
			}
			if len(l.Thread.Inbox.Waiting) == 0 {
				return do.Record{Bodies: []memory.Body{memory.Revoked{Grant: 1}}}
			}
			return w.runner.Agent.Next(l)
		})
		if _, err := store.Put(t.Context(), w.thread, memory.Due{}, "due"); err != nil {
			t.Fatal(err)
		}
		w.start()
		time.Sleep(time.Hour) // by the bubble's clock
		w.stop()
		entries, err := store.Read(t.Context(), w.thread)
		if err != nil {
			t.Fatal(err)
		}
		if said := strings.Count(log.String(), "level=ERROR"); said != 1 || len(entries) > 520 {
			t.Errorf("the operator was told %d times, and the log has %d entries:\n%s", said, len(entries), log.String())
		}
	})
}
