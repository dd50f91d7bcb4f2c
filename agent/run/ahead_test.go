package run_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/run"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// quick is a world whose tool and model take no time, so that a turn shows its steps right
// before its answer.
func quick(t *testing.T, store memory.Full, answers ...string) *world {
	t.Helper()
	w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "noon"}, nil }, tool("look", true))
	w.runner.Hold = run.DefaultHold
	for _, a := range answers {
		w.model.Add("call look {}")
		w.model.Add("say " + a)
	}
	return w
}

// The steps that go before an answer are posted beside the commit of both, and the answer
// not before it. Where the process ends in between, the next one finds them.
func TestStepsAheadAreFound(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		w := quick(t, full, "It is noon.", "It is noon.")
		store := &mute{Full: full}
		w.runner.Store, w.runner.Grace = store, time.Second
		store.away = true
		w.plays("what time is it?")
		wantLines(t, w.board, "steps Done: look done")
		wantKinds(t, full, w.thread, "message")
		store.away = false
		w.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer It is noon.", "steps Done: look done")
		if n := w.board.StepsMessages(); n != 1 {
			t.Errorf("%d steps messages", n)
		}
	})
}

// mute is a store that takes what arrives, and nothing that comes of it while it is away.
type mute struct {
	memory.Full
	away bool
}

// Commit implements memory.Store.
func (s *mute) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if s.away {
		return nil, errAway
	}
	return s.Full.Commit(ctx, r, bodies...)
}

// Ping implements memory.Store.
func (s *mute) Ping(ctx context.Context) error {
	if s.away {
		return errAway
	}
	return s.Full.Ping(ctx)
}

// What comes along with that commit is heard: the steps that stand go on, and are folded
// behind what is the answer then.
func TestHeardWhileAhead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &arriving{Full: full, kind: memory.Step{}.Kind()}
		w := quick(t, store, "It is noon.")
		w.inbox.Store = full
		store.arrives = func() {
			if err := w.say("in Berlin, please"); err != nil {
				t.Error(err)
			}
		}
		w.model.Add("expect in Berlin, please\nsay It is noon in Berlin.")
		w.plays("what time is it?")
		if got := w.board.Lines(); !slices.Contains(got, "answer It is noon in Berlin.") || strings.Contains(strings.Join(got, "\n"), "again") {
			t.Errorf("people saw:\n%s", strings.Join(got, "\n"))
		}
		if n := w.board.StepsMessages(); n != 1 {
			t.Errorf("%d steps messages", n)
		}
	})
}

// Steps that the platform does not take leave the answer as it is, and nothing to fold.
func TestStepsAheadAreRefused(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := quick(t, store, "It is noon.")
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = refusing{
			seen, func(p chat.Post) bool { return p.Steps != nil }, chat.Refused{Platform: "Slack", Code: "msg_blocks_too_long"},
		}
		w.plays("what time is it?")
		wantLines(t, w.board, "answer It is noon.")
		if seen.drawings() != 0 {
			t.Errorf("steps were shown as %q", seen.status)
		}
		wantKinds(t, store, w.thread, "message opened step result step posted posted ended")
	})
}

// A process that may have lost the thread shows nothing before the store says that it has it.
func TestNoStepsAheadInDoubt(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &doubtful{Full: full}
		w := quick(t, store, "It is noon.")
		w.inbox.Store = full
		w.runner.Platforms["board"] = knowing{w.board, func() {
			if got := kinds(t, full, w.thread); got == "message" {
				t.Error("steps are shown of which the store does not know")
			}
		}}
		w.plays("what time is it?")
		wantLines(t, w.board, "steps Done: look done", "answer It is noon.")
	})
}

// doubtful is a store whose leases are all in doubt once the model was asked, until
// something is committed.
type doubtful struct {
	memory.Full
	mu   sync.Mutex
	sure bool
}

// Next implements memory.Store.
func (s *doubtful) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	r, err := s.Full.Next(ctx, platforms...)
	if r != nil {
		r.Doubt = func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return !s.sure
		}
	}
	return r, err
}

// Commit implements memory.Store.
func (s *doubtful) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	time.Sleep(time.Millisecond)
	arrived, err := s.Full.Commit(ctx, r, bodies...)
	s.mu.Lock()
	s.sure = s.sure || err == nil
	s.mu.Unlock()
	return arrived, err
}
