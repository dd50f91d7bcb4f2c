package run_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// A turn that is over at once is written twice, before its answer is posted and when the
// thread is let go, and shows its steps once, as they are in the end.
func TestQuickTurnIsWrittenOnce(t *testing.T) {
	t.Parallel()
	bubble(t, quickTurn)
}

// So it is on Redis.
func TestQuickTurnIsWrittenOnceOnRedis(t *testing.T) {
	t.Parallel()
	bubbleOn(t, openRedis(t)("nod"), quickTurn)
}

func quickTurn(t *testing.T, full memory.Full) {
	store := &tallied{Full: full}
	w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "noon"}, nil }, tool("look", true))
	w.inbox.Store, w.runner.Hold = full, run.DefaultHold
	seen := &watched{Board: w.board}
	w.runner.Platforms["board"] = seen
	w.model.Add("call look {}")
	w.model.Add("expect noon\nsay It is noon.")
	w.start()
	if err := w.say("what time is it?"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if n := store.asked.Load(); n != 3 { // it is claimed, committed to and let go
		t.Errorf("the store was asked %d times, want 3", n)
	}
	if seen.drawings() != 1 || seen.last() != "Done" {
		t.Errorf("steps were shown as %q", seen.status)
	}
	w.stop()
	wantLines(t, w.board, "steps Done: look done", "answer It is noon.")
	wantKinds(t, full, w.thread, "message opened step result step posted posted posted ended")
}

// What takes longer is shown meanwhile, and only once the store knows of it.
func TestSlowTurnIsShown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			time.Sleep(time.Minute)
			return llm.Result{Text: "noon"}, nil
		}, tool("look", true))
		w.runner.Hold = run.DefaultHold
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = seen
		w.model.Add("call look {}")
		w.model.Add("say It is noon.")
		w.start()
		if err := w.say("what time is it?"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(run.DefaultHold / 2)
		synctest.Wait()
		if seen.drawings() != 0 {
			t.Errorf("at once the steps are shown as %q", seen.last())
		}
		wantKinds(t, store, w.thread, "message")
		time.Sleep(run.DefaultHold)
		synctest.Wait()
		if seen.last() != "Running look" {
			t.Errorf("a moment later the steps are shown as %q", seen.last())
		}
		wantKinds(t, store, w.thread, "message opened step posted")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer It is noon.", "steps Done: look done")
		if n := w.board.StepsMessages(); n != 1 {
			t.Errorf("%d steps messages", n)
		}
	})
}

// No steps of a turn that goes on are seen of which the store does not know, be it that a
// side effect begins at once.
func TestSeenIsKnown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "done"}, nil }, tool("act", false))
		w.runner.Hold = time.Hour
		w.runner.Platforms["board"] = knowing{w.board, func() {
			if got := kinds(t, store, w.thread); !strings.HasPrefix(got, "message opened step") { // it may be further by now
				t.Errorf("the store has %s", got)
			}
		}}
		w.model.Add("call act {}")
		w.model.Add("say It acted.")
		w.plays("act")
		wantLines(t, w.board, "answer It acted.", "steps Done: act done")
	})
}

// knowing is a platform that looks at the store when it is to show steps, and takes a
// moment to do so.
type knowing struct {
	*script.Board
	look func()
}

// Post implements run.Drawer.
func (k knowing) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if p.Steps != nil {
		k.look()
	}
	return k.Board.Post(ctx, thread, p, look)
}

// What is written meanwhile is seen by the next model call, as if nothing were held.
func TestHeardWhileHeld(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		var w *world
		w = newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			return llm.Result{Text: "noon"}, w.say("in Berlin, please")
		}, tool("look", true))
		w.runner.Hold = time.Hour
		w.model.Add("call look {}")
		w.model.Add("expect in Berlin, please\nsay It is noon in Berlin.")
		w.plays("what time is it?")
		if got := w.board.Lines(); !slices.Contains(got, "answer It is noon in Berlin.") {
			t.Errorf("people saw:\n%s", strings.Join(got, "\n"))
		}
	})
}

// A process that drains hands on what it held.
func TestHeldIsHandedOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(ctx context.Context, _ llm.Call) (llm.Result, error) {
			<-ctx.Done()
			return llm.Result{}, ctx.Err()
		}, tool("look", true))
		w.runner.Hold = time.Hour
		w.model.Add("call look {}")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		wantKinds(t, store, w.thread, "message")
		w.stop()
		wantKinds(t, store, w.thread, "message opened step")
	})
}

// What the store does not take for a reason of its own is not held for ever: whoever takes
// the thread up again does it again.
func TestHeldIsDropped(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &choosy{Full: full, refuses: 6}
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "noon"}, nil }, tool("look", true))
		w.inbox.Store, w.runner.Hold = full, run.DefaultHold
		for range 2 {
			w.model.Add("call look {}")
			w.model.Add("say It is noon.")
		}
		w.plays("what time is it?")
		wantLines(t, w.board, "steps Done: look done", "answer It is noon.", "steps Done: look done")
	})
}

// choosy is a store that does not take the first answers, nor the calls before them, and
// everything else.
type choosy struct {
	memory.Full
	refuses int
}

// Commit implements memory.Store.
func (p *choosy) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if len(r.Unkept(bodies...)) > 0 && p.refuses > 0 {
		p.refuses--
		return nil, errAway
	}
	return p.Full.Commit(ctx, r, bodies...)
}

// Finish implements memory.Store.
func (p *choosy) Finish(ctx context.Context, r *memory.Run, at time.Time) (bool, error) {
	if slices.ContainsFunc(r.Holding(), func(e memory.Entry) bool { return e.Body.Kind() == memory.Step{}.Kind() }) {
		return false, errAway
	}
	return p.Full.Finish(ctx, r, at)
}

// An answer that is refused leaves steps that are folded, as any others.
func TestStepsBeforeARefusedAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "noon"}, nil }, tool("look", true))
		w.runner.Hold = run.DefaultHold
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = refusing{
			seen, func(p chat.Post) bool { return p.Text != nil && !p.Text.Notice }, chat.Refused{Platform: "Slack", Code: "msg_blocks_too_long"},
		}
		w.model.Add("call look {}")
		w.model.Add("say It is noon.")
		w.plays("what time is it?")
		if seen.last() != "Done" || w.board.StepsMessages() != 1 {
			t.Errorf("the steps end as %q, in %d messages", seen.status, w.board.StepsMessages())
		}
		if got := strings.Join(w.board.Lines(), "\n"); !strings.Contains(got, "refused my answer") {
			t.Errorf("people saw:\n%s", got)
		}
	})
}

// plays has somebody ask something, and lets a minute of the bubble's pass.
func (w *world) plays(text string) {
	w.t.Helper()
	w.start()
	if err := w.say(text); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	w.stop()
}

// wantKinds checks what a store has of a thread.
func wantKinds(t *testing.T, store memory.Reader, thread chat.ThreadID, want string) {
	t.Helper()
	if got := kinds(t, store, thread); got != want {
		t.Errorf("the store has %s, want %s", got, want)
	}
}

func kinds(t *testing.T, store memory.Reader, thread chat.ThreadID) string {
	t.Helper()
	log, err := store.Read(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range log {
		out = append(out, e.Body.Kind())
	}
	return strings.Join(out, " ")
}

// A vote that comes while what is held is written for the steps is acted on: the thread is
// not let go with it.
func TestArrivesWhileDrawn(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		ran := 0
		act := tool("act", false)
		act.Risk = agent.Ask
		store := &arriving{Full: full, kind: memory.Result{}.Kind()}
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			if c.Name == "act" {
				ran++
				return llm.Result{Text: "done"}, nil
			}
			time.Sleep(time.Second)
			return llm.Result{Text: "noon"}, nil
		}, act, tool("look", true))
		store.arrives = func() {
			card, ok := w.board.Find("act")
			if !ok {
				t.Error("no card")
			}
			vote := chat.Reaction{On: card, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}
			if _, err := (run.Inbox{Store: full, Emoji: w.inbox.Emoji}).Reaction(t.Context(), vote, "vote"); err != nil {
				t.Error(err)
			}
		}
		w.inbox.Store, w.runner.Hold = full, run.DefaultHold
		w.runner.Platforms["board"] = paced{w.board}
		w.model.Add("call look {}\ncall act {}")
		w.model.Add("say It acted.")
		w.plays("act")
		if ran != 1 || store.arrives != nil {
			t.Errorf("the call ran %d times; the vote came: %t", ran, store.arrives == nil)
		}
	})
}

// paced is a platform whose steps stand for an hour before they are drawn anew.
type paced struct{ *script.Board }

// Pace implements run.Pacer.
func (paced) Pace() time.Duration { return time.Hour }

// arriving is a store to which something comes right before it is told what was held.
type arriving struct {
	memory.Full
	arrives func()
	kind    string // of the last entry that is held then
}

// Commit implements memory.Store.
func (s *arriving) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if arrives := s.arrives; arrives != nil && len(bodies) == 0 && r.Late > 0 && r.Holding()[r.Late-1].Body.Kind() == s.kind {
		s.arrives = nil
		arrives()
	}
	return s.Full.Commit(ctx, r, bodies...)
}
