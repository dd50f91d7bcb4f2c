package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// One person has 32 approvals waiting at most, in all threads together; whoever else
// asks is asked for as before.
func TestTooManyApprovals(t *testing.T) {
	bubble(t, func(t *testing.T, store memory.Full) {
		deploy := tool("deploy", false)
		deploy.Risk = policy.Ask
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{}, nil }, deploy)
		w.runner.Model = asker{}
		w.start()
		defer w.stop()
		for i, who := range []string{"ada", "ada", "ada", "ben"} {
			w.asks(who, i)
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

// drawsSlowly is a platform that takes its time for the card of an approval.
type drawsSlowly struct{ *script.Board }

// Post implements run.Drawer.
func (s drawsSlowly) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if p.Approval != nil {
		time.Sleep(10 * time.Second) // in the bubble's time
	}
	return s.Board.Post(ctx, thread, p, look)
}

// Also of approvals that are asked for in several threads at the same moment, and where
// none of the cards stands yet, one person has 32 waiting at most, and as many as that.
func TestTooManyApprovalsInARow(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"at once": 0, "no card stands": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) { rush(t, store, pause) })
		})
	}
}

// rush has one person ask for sixteen things in each of five threads.
func rush(t *testing.T, store memory.Full, pause time.Duration) {
	const threads = 5
	deploy := tool("deploy", false)
	deploy.Risk = policy.Ask
	w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{}, nil }, deploy)
	w.runner.Platforms["board"] = drawsSlowly{w.board}
	w.runner.Model = asker{}
	w.start()
	defer w.stop()
	for i := range threads {
		w.thread.Root = fmt.Sprint(i)
		m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: fmt.Sprint(i)}, From: chat.User{ID: "ada", Name: "ada"}, Text: "deploy all"}
		if _, err := w.inbox.Message(t.Context(), w.thread, m, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(pause)
	}
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	lines := strings.Join(w.board.Lines(), "\n")
	if n, denied := strings.Count(lines, "ask deploy"), strings.Count(lines, "answer denied: too many approvals wait"); n != 32 || denied != threads-2 {
		t.Errorf("%d approvals, want 32; %d threads are told that it is too many, want %d:\n%s", n, denied, threads-2, lines)
	}
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

// slowAsker is an asker that takes a second.
type slowAsker struct{ asker }

func (a slowAsker) Complete(ctx context.Context, req llm.Request, hear func(llm.Delta)) (llm.Response, error) {
	time.Sleep(time.Second) // in the bubble's time
	return a.asker.Complete(ctx, req, hear)
}

// readings is a store that counts how many logs are looked into.
type readings struct {
	memory.Full
	tails atomic.Int64
}

// Tail implements memory.Reader.
func (s *readings) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	s.tails.Add(1)
	return s.Full.Tail(ctx, thread, after)
}

// However many approvals wait, one more is no look into the logs of all.
func TestAskedAmongMany(t *testing.T) {
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &readings{Full: full}
		deploy := tool("act", false)
		deploy.Risk = policy.Ask
		w := newWorld(t, store, nil, deploy)
		w.runner.Model = once{}
		w.start()
		defer w.stop()
		const people = 60
		for i := range people {
			w.asks(fmt.Sprint("p", i), i)
		}
		if n := strings.Count(strings.Join(w.board.Lines(), "\n"), "ask act {"); n != people {
			t.Errorf("%d approvals are asked for, want %d", n, people)
		}
		if n := store.tails.Load(); n > 0 {
			t.Errorf("%d logs were looked into", n)
		}
	})
}

// asks has a person ask for something in a thread of its own.
func (w *world) asks(who string, thread int) {
	w.t.Helper()
	w.thread.Root = fmt.Sprint(thread)
	m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: fmt.Sprint(thread)}, From: chat.User{ID: chat.UserID(who), Name: who}, Text: "go"}
	if _, err := w.inbox.Message(w.t.Context(), w.thread, m, m.Ref.ID); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Second) // in the bubble's time
	synctest.Wait()
}

// Two processes over one store let one person have no more approvals waiting than one
// process does.
func TestTooManyOfTwoProcesses(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		deploy := tool("deploy", false)
		deploy.Risk = policy.Ask
		worlds := []*world{newWorld(t, store, nil, deploy), newWorld(t, store, nil, deploy)}
		for _, w := range worlds {
			w.runner.Model, w.runner.Platforms, w.runner.Most = slowAsker{}, worlds[0].runner.Platforms, 1
			w.start()
			defer w.stop()
		}
		const threads = 8
		for i := range threads {
			worlds[0].thread.Root = fmt.Sprint(i)
			if err := worlds[0].say(fmt.Sprint("deploy all ", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // in the bubble's time
		synctest.Wait()
		lines := strings.Join(worlds[0].board.Lines(), "\n")
		if n, denied := strings.Count(lines, "ask deploy"), strings.Count(lines, "answer denied: too many approvals wait"); n != 32 || denied != threads-2 {
			t.Errorf("%d approvals, want 32; %d threads are told that it is too many, want %d:\n%s", n, denied, threads-2, lines)
		}
	})
}

// A decision makes room at once, also for a process that never held its thread.
func TestRoomForApprovals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		deploy := tool("act", false)
		deploy.Risk = policy.Ask
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{}, nil }, deploy)
		w.runner.Model = once{}
		w.start()
		const most = 32
		for i := range most {
			w.asks("ada", i)
		}
		want := func(n int, when string) {
			t.Helper()
			if got := strings.Count(strings.Join(w.board.Lines(), "\n"), "ask act {"); got != n {
				t.Errorf("%s: %d more approvals were asked for, want %d", when, got, n)
			}
		}
		want(most, "there is room")
		w.asks("ada", most)
		want(0, "full")
		w.thread.Root = "0"
		if err := w.say("n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // in the bubble's time
		synctest.Wait()
		w.stop()
		other := newWorld(t, store, nil, deploy)
		other.runner.Model, other.runner.Platforms = once{}, w.runner.Platforms
		other.start()
		defer other.stop()
		other.asks("ada", most+1)
		want(1, "one was denied")
		other.asks("ada", most+2)
		want(0, "full again")
	})
}

// looksUpSlowly is a platform that takes its time to say who could approve.
type looksUpSlowly struct{ *script.Board }

// Possible implements run.Members.
func (s looksUpSlowly) Possible(ctx context.Context, thread chat.ThreadID, rule string) bool {
	time.Sleep(10 * time.Second) // in the bubble's time, for each of sixteen
	return s.Board.Possible(ctx, thread, rule)
}

// It makes no room that it takes long until somebody is asked.
func TestTooManyWhileApproversAreLookedUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		deploy := tool("deploy", false)
		deploy.Risk, deploy.Rules.Approvers = policy.Ask, []string{"group:ops"}
		w := newWorld(t, store, nil, deploy)
		w.runner.Model, w.runner.Platforms["board"] = asker{}, looksUpSlowly{w.board}
		w.start()
		defer w.stop()
		for i := range 4 {
			w.asks("ada", i)
			time.Sleep(45 * time.Second) // in the bubble's time
		}
		time.Sleep(10 * time.Minute) // in the bubble's time
		synctest.Wait()
		if n := strings.Count(strings.Join(w.board.Lines(), "\n"), "ask deploy"); n != 32 {
			t.Errorf("%d approvals are asked for, want 32", n)
		}
	})
}

// unwilling is a store that takes no notes for a while.
type unwilling struct {
	memory.Full
	times atomic.Int64
}

// Swap implements memory.Notes.
func (s *unwilling) Swap(ctx context.Context, name string, old, value []byte) (bool, error) {
	if s.times.Add(-1) >= 0 {
		return false, errors.New("no notes now")
	}
	return s.Full.Swap(ctx, name, old, value)
}

// Nobody is asked for an approval that can't be counted; once it can be, they are, once.
func TestAskedOnceItCounts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &unwilling{Full: full}
		store.times.Store(2)
		deploy := tool("act", false)
		deploy.Risk = policy.Ask
		w := newWorld(t, store, nil, deploy)
		w.runner.Model, w.runner.Log = once{}, slog.New(slog.DiscardHandler)
		w.start()
		defer w.stop()
		w.asks("ada", 0)
		time.Sleep(10 * time.Minute) // in the bubble's time
		synctest.Wait()
		if n, left := strings.Count(strings.Join(w.board.Lines(), "\n"), "ask act {"), store.times.Load(); n != 1 || left >= 0 {
			t.Errorf("asked %d times, %d failures are left", n, left)
		}
	})
}
