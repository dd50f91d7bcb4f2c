package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/speak"
	"nod/llm"
	"nod/memory"
)

// written is a protocol that counts the prompts that it is asked to write.
type written struct {
	speak.NativeTools
	prompts atomic.Int64
}

// Request implements speak.Protocol.
func (w *written) Request(p speak.Prompt) llm.Request {
	w.prompts.Add(1)
	return w.NativeTools.Request(p)
}

// wordy is a model that writes its answer word by word.
type wordy int

// Complete implements llm.Model.
func (n wordy) Complete(_ context.Context, _ llm.Request, hear func(llm.Delta)) (llm.Response, error) {
	var text string
	for range n {
		time.Sleep(time.Second) // in a bubble: until everybody has looked at the word before
		text += "word "
		hear(llm.Delta{Text: "word "})
	}
	return llm.Response{Text: text, Finish: "stop"}, nil
}

// The prompt of a model call is written once, however often the driver looks what is
// to be done while it goes on: in a long thread it is the dearest that there is to do.
func TestPromptIsWrittenOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, protocol := newWorld(t, store, nil), &written{}
		w.runner.Model, w.runner.Agent.Protocol = wordy(20), protocol
		w.start()
		for i, text := range []string{"one", "two"} {
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := protocol.prompts.Load(); got != int64(i+1) {
				t.Errorf("after %d model calls %d prompts were written", i+1, got)
			}
		}
		w.stop()
	})
}
