package run_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/internal/crash"
	"nod/llm"
	"nod/memory"
)

// fickle is a store that goes away at a given boundary: right before, or right
// after, the nth thing that it is asked to write. What was written before it went
// is written, but its answer is lost.
type fickle struct {
	moody
	how   time.Duration
	at    int64
	count atomic.Int64
}

func (f *fickle) boundary() {
	if f.count.Add(1) == f.at {
		f.sulk(f.how)
	}
}

// Commit implements memory.Store.
func (f *fickle) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	f.boundary()
	arrived, err := f.moody.Commit(ctx, r, bodies...)
	if err == nil {
		f.boundary()
	}
	return arrived, err
}

// Finish implements memory.Store.
func (f *fickle) Finish(ctx context.Context, r *memory.Run, at time.Time, bodies ...memory.Body) (bool, error) {
	f.boundary()
	more, err := f.moody.Finish(ctx, r, at, bodies...)
	if err == nil {
		f.boundary()
	}
	return more, err
}

// Put implements memory.Store.
func (f *fickle) Put(ctx context.Context, t chat.ThreadID, b memory.Body, ids ...string) (bool, error) {
	f.boundary()
	return f.moody.Put(ctx, t, b, ids...)
}

// A store that goes away at any boundary of a turn with a slow model, an approval
// and a slow side effect, for a tenth of a second, a second or half a minute, loses
// nothing, doubles nothing, and makes no known outcome unknown.
func TestStoreAwayAtEveryBoundary(t *testing.T) {
	t.Parallel()
	for _, how := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second} {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			everyBoundary(t, 20, func(n int64) (boundaries int64) { return awayAt(t, how, n) })
		})
	}
}

// everyBoundary plays something undisturbed, as boundary 0, which counts at least so
// many boundaries, and then for each at which this run of the tests disturbs.
func everyBoundary(t *testing.T, least int64, play func(n int64) (boundaries int64)) {
	t.Helper()
	all := play(0)
	if all < least {
		t.Errorf("only %d boundaries: the walk does not see what it is to disturb", all)
	}
	points := crash.Points(int(all), 9)
	for _, n := range points {
		if t.Failed() {
			return
		}
		play(int64(n))
	}
	t.Logf("%d of %d boundaries", len(points), all)
}

// awayAt plays one turn, and gives its boundaries.
func awayAt(t *testing.T, how time.Duration, n int64) (boundaries int64) {
	bubble(t, func(t *testing.T, store memory.Full) {
		f := &fickle{moody: moody{Full: store}, how: how, at: n}
		act := tool("act", false)
		act.Risk, act.Timeout = policy.Ask, time.Minute
		ran := 0
		w := newWorld(t, f, func(_ context.Context, c llm.Call) (llm.Result, error) {
			if c.Name == "look" {
				return llm.Result{Text: "seen"}, nil
			}
			ran++
			time.Sleep(3 * time.Second)
			return llm.Result{Text: "deployed version 7"}, nil
		}, tool("look", true), act)
		w.inbox.Store = store
		model := &counted{Model: unhurried{w.model}}
		w.runner.Model = model
		w.model.Add("call look {}\ncall act {}")
		w.model.Add("expect deployed version 7\nsay done")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		ask, ok := w.board.Find("act")
		if !ok {
			t.Fatalf("boundary %d: nothing was asked", n)
		}
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "r1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		boundaries = f.count.Load()
		want := []string{"ask act {} of requester", "approved act by ada", "answer done", "steps Done: look done, act done"}
		if got := strings.Join(w.board.Lines(), "\n"); got != strings.Join(want, "\n") {
			t.Errorf("boundary %d: people saw:\n%s", n, got)
		}
		if calls := model.calls.Load(); ran != 1 || calls != 2 {
			t.Errorf("boundary %d: the side effect ran %d times, after %d model calls; want 1 and 2", n, ran, calls)
		}
	})
	return boundaries
}

// unhurried is a model that takes five seconds.
type unhurried struct{ llm.Model }

// Complete implements llm.Model.
func (u unhurried) Complete(ctx context.Context, r llm.Request, hear func(llm.Delta)) (llm.Response, error) {
	select {
	case <-time.After(5 * time.Second):
		return u.Model.Complete(ctx, r, hear)
	case <-ctx.Done():
		return llm.Response{}, fmt.Errorf("wait: %w", ctx.Err())
	}
}
