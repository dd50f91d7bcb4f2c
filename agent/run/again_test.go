package run_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// tardy is a host that tells late of a context that is done.
type tardy struct{ run.Goroutines }

// After implements run.Host.
func (t tardy) After(ctx context.Context, f func()) func() bool {
	return t.Goroutines.After(ctx, func() {
		time.Sleep(time.Second)
		f()
	})
}

// deployed is a tool that is done at once.
func deployed(context.Context, llm.Call) (llm.Result, error) {
	return llm.Result{Text: "deployed"}, nil
}

// A Runner that ended and is begun again, over the same store that stayed open, goes
// on with what is parked: what was to end its first run does not end the second.
func TestRunnerAgain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, deployed, act)
		w.runner.Host = tardy{}
		w.model.Add("call act {}")
		w.model.Add("say done")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		w.start()
		time.Sleep(time.Minute)
		ask, ok := w.board.Find("act")
		if !ok {
			t.Fatal("nothing was asked")
		}
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "r1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.stop()
		time.Sleep(2 * time.Second) // tardy is done
		wantLines(t, w.board, "ask act {} of requester", "approved act by ada", "answer done", "steps Done: act done")
	})
}

// A thread that a Runner could not give back, since the store refused that until the
// Runner was over, is taken up by the next one over the same open store.
func TestRunnerAgainAfterRefusals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		m := grudging{&moody{Full: store}}
		w := newWorld(t, m, nil)
		w.inbox.Store = store
		w.model.Add("say Hello.")
		w.model.Add("say Hello.")
		w.start()
		m.sulk(5 * time.Minute)
		if err := w.say("hello"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.stop()
		time.Sleep(10 * time.Minute)
		w.start()
		time.Sleep(5 * time.Minute)
		w.stop()
		wantLines(t, w.board, "answer Hello.")
	})
}

// A call that runs on while its thread is with another driver of the process tells what
// came of it by letter. Where the store loses that, the process still knows, and looks.
func TestLostLetter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		lost := func(b memory.Body) bool { _, letter := b.(memory.Result); return letter }
		claims := taken{forgetful{store, lost}, make(chan *memory.Run, 9)}
		act := tool("act", false)
		act.Timeout = 2 * time.Minute
		w := newWorld(t, claims, func(context.Context, llm.Call) (llm.Result, error) {
			time.Sleep(90 * time.Second)
			return llm.Result{Text: "deployed version 7"}, nil
		}, act)
		w.model.Add("call act {}")
		w.model.Add("expect deployed version 7\nsay it is done")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		held := <-claims.runs
		held.Bell.Lose() // and so the driver lets go, while the call runs
		synctest.Wait()
		if err := store.Handoff(t.Context(), held); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer it is done", "steps Done: act done")
	})
}

// taken is a store of which it is known what was claimed.
type taken struct {
	memory.Full
	runs chan *memory.Run
}

// Next implements memory.Store.
func (o taken) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	r, err := o.Full.Next(ctx, platforms...)
	if err == nil {
		o.runs <- r
	}
	return r, err
}
