package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/run"
	"nod/llm"
	"nod/memory"
)

// heldUp is a host whose goroutines, once it is busy, are held up for a moment
// after each signal that they set.
type heldUp struct {
	run.Goroutines
	busy *atomic.Bool
}

// Signal implements run.Host.
func (h heldUp) Signal() run.Signal { return heldUpSignal{h.Goroutines.Signal(), h.busy} }

type heldUpSignal struct {
	run.Signal
	busy *atomic.Bool
}

// Set implements run.Signal.
func (s heldUpSignal) Set() {
	s.Signal.Set()
	if s.busy.Load() {
		time.Sleep(time.Second)
	}
}

// Between the end of a side effect and the letter that tells of it there is no
// moment in which a process that ends takes itself for finished.
func TestDrainLosesNoOutcome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		act := tool("act", false)
		act.Timeout = 10 * time.Minute
		does := func(context.Context, llm.Call) (llm.Result, error) {
			time.Sleep(9 * time.Minute)
			return llm.Result{Text: "deployed version 7"}, nil
		}
		first := newWorld(t, reopened(t, dir), does, act)
		host := heldUp{busy: &atomic.Bool{}}
		first.runner.Host = host
		first.model.Add("call act {}")
		first.start()
		if err := first.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		first.cancel()
		time.Sleep(time.Minute) // the thread is let go of
		host.busy.Store(true)
		<-first.done
		if err := first.store.Close(); err != nil {
			t.Fatal(err)
		}
		host.busy.Store(false)

		second := newWorld(t, reopened(t, dir), does, act)
		second.model.Add("expect deployed version 7\nsay it is done")
		second.start()
		time.Sleep(time.Minute)
		second.stop()
		if err := second.store.Close(); err != nil {
			t.Fatal(err)
		}
		wantLines(t, second.board, "answer it is done", "steps Done: act done")
	})
}

func reopened(t *testing.T, dir string) memory.Full {
	store, err := openFile(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
