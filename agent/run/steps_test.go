package run_test

import (
	"context"
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

// sluggish is a platform on which the first steps message takes ten seconds.
type sluggish struct{ *watched }

// Post implements run.Drawer.
func (s sluggish) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if p.Steps != nil {
		time.Sleep(10 * time.Second)
	}
	return s.watched.Post(ctx, thread, p, look)
}

// last is what the steps say now.
func (b *watched) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.status) == 0 {
		return ""
	}
	return b.status[len(b.status)-1]
}

func (b *watched) drawings() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.status)
}

// Changes while the first steps message is on its way are drawn once it stands.
func TestStepsChangedMeanwhile(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			if c.Name == "long" {
				time.Sleep(time.Minute)
			} else {
				time.Sleep(time.Second)
			}
			return llm.Result{Text: "ok"}, nil
		}, tool("long", true), tool("short", true))
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = sluggish{seen}
		w.model.Add("call short {}\ncall long {}")
		w.model.Add("say Done.")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := seen.last(); got != "Running long" {
			t.Errorf("while one call still runs the steps say %q", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.stop()
	})
}

// Steps are drawn when they read otherwise than before, and not for what else happens
// in a thread, such as votes that don't count.
func TestStepsDrawnOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk, act.Rules = policy.Ask, script.Rules()
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			time.Sleep(time.Hour) // so long the thread is held by one driver
			return llm.Result{Text: "ok"}, nil
		}, act, tool("long", true))
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = seen
		w.model.Add("call long {}\ncall act {}")
		w.model.Add("say Done.")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		before := seen.drawings()
		if got := seen.last(); got != "Running long · Waiting for approval of act" {
			t.Errorf("while it waits the steps say %q", got)
		}
		ask, _ := w.board.Find("act")
		for _, who := range strings.Fields("bob eve mal") {
			_, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: chat.UserID(who), Name: who}, Emoji: "✅"}, "r"+who)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if n := seen.drawings() - before; n != 0 || !strings.Contains(strings.Join(w.board.Lines(), "\n"), "tell mal") {
			t.Errorf("they were drawn %d times more, and say the same; people saw\n%s", n, strings.Join(w.board.Lines(), "\n"))
		}
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "rada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if got := seen.last(); got != "Done" {
			t.Errorf("in the end the steps say %q", got)
		}
		w.stop()
	})
}

// queued is a platform whose answers wait for a limit, and whose edits are dear.
type queued struct{ *watched }

// Post implements run.Drawer.
func (q queued) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if p.Steps == nil {
		time.Sleep(20 * time.Second)
	}
	return q.watched.Post(ctx, thread, p, look)
}

// Able implements run.Platform.
func (queued) Able() chat.Able { return chat.Able{Pace: time.Second, Grows: true} }

// Steps are not drawn while the answer waits, behind which they have their last form.
func TestStepsBehindTheAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "ok"}, nil }, tool("clock", true))
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = queued{seen}
		w.model.Add("call clock {}")
		w.model.Add("say Noon.")
		w.start()
		if err := w.say("time"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n, last := seen.drawings(), seen.last(); n > 2 || last != "Done" {
			t.Errorf("the steps were drawn %d times, want as the first call ran and in the end; they say %q, %q", n, last, seen.status)
		}
		w.stop()
	})
}

// folding is a platform on which the last edit of steps waits for a limit, and edits
// are dear. It notes what is drawn after that edit was begun.
type folding struct {
	queued
	begun, after atomic.Int64
}

// Edit implements run.Drawer.
func (f *folding) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	switch {
	case p.Steps == nil:
	case p.Steps.Done:
		f.begun.Add(1)
		time.Sleep(time.Minute)
	case f.begun.Load() > 0:
		f.after.Add(1)
	}
	return f.queued.Edit(ctx, thread, ref, p)
}

// Once the last form of the steps is on its way nothing else is drawn of them, whatever
// happens in the thread meanwhile: it would stand there in the end.
func TestStepsFoldedLast(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "ok"}, nil }, act)
		seen := &folding{queued: queued{&watched{Board: w.board}}}
		w.runner.Platforms["board"] = seen
		w.model.Add("call act {}")
		w.model.Add("say Done.")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		ask, _ := w.board.Find("act")
		for _, who := range []string{"ada", "ben"} {
			_, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: chat.UserID(who), Name: who}, Emoji: "✅"}, "r"+who)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second) // by when the answer stands, and the last edit waits
		}
		synctest.Wait()
		if seen.begun.Load() != 1 || seen.after.Load() > 0 {
			t.Errorf("the last form was begun %d times, and after it the steps were drawn %d times", seen.begun.Load(), seen.after.Load())
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
	})
}
