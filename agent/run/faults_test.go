package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/run"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// moody is a store that is away now and then: what it is asked then is refused,
// and not done.
type moody struct {
	memory.Full
	away atomic.Bool
}

var errAway = errors.New("the disk is full")

// sulk has the store away for so long.
func (m *moody) sulk(how time.Duration) {
	m.away.Store(true)
	time.AfterFunc(how, func() { m.away.Store(false) })
}

func (m *moody) refuses() error {
	if m.away.Load() {
		return errAway
	}
	return nil
}

// Put implements memory.Store.
func (m *moody) Put(ctx context.Context, t chat.ThreadID, b memory.Body, ids ...string) (bool, error) {
	if err := m.refuses(); err != nil {
		return false, err
	}
	return m.Full.Put(ctx, t, b, ids...)
}

// Commit implements memory.Store.
func (m *moody) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if err := m.refuses(); err != nil {
		return nil, err
	}
	return m.Full.Commit(ctx, r, bodies...)
}

// Finish implements memory.Store.
func (m *moody) Finish(ctx context.Context, r *memory.Run, at time.Time, bodies ...memory.Body) (bool, error) {
	if err := m.refuses(); err != nil {
		return false, err
	}
	return m.Full.Finish(ctx, r, at, bodies...)
}

// Ping implements memory.Store.
func (m *moody) Ping(ctx context.Context) error {
	if err := m.refuses(); err != nil {
		return err
	}
	return m.Full.Ping(ctx)
}

// grudging is a store that takes no commits and lets no thread go, though it answers
// to everything else.
type grudging struct{ *moody }

// Ping implements memory.Store.
func (g grudging) Ping(ctx context.Context) error { return g.Full.Ping(ctx) }

// A store that refuses one thread alone for a while does not make a thread
// that is held by nobody and that nobody else gets.
func TestStoreRefusesOneThread(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		m := grudging{&moody{Full: store}}
		w := newWorld(t, m, nil)
		w.inbox.Store = store
		w.model.Add("say Hello.") // is asked again, since what it said could not be kept
		w.model.Add("say Hello.")
		m.sulk(4 * time.Second)
		w.start()
		if err := w.say("hello"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer Hello.")
	})
}

// counted counts what a model is asked.
type counted struct {
	llm.Model
	calls atomic.Int64
}

// Complete implements llm.Model.
func (c *counted) Complete(ctx context.Context, r llm.Request, hear func(llm.Delta)) (llm.Response, error) {
	c.calls.Add(1)
	return c.Model.Complete(ctx, r, hear)
}

// A store that is away while a side effect runs, however long, ends nothing and
// loses nothing: the effect runs to its end, its outcome is told as what it is, and
// no model call is paid twice.
func TestStoreAwayDuringAnEffect(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second, 10 * time.Minute} {
		t.Run(away.String(), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				m := &moody{Full: store}
				w := newWorld(t, m, nil, tool("act", false))
				ended := ""
				w.runner.Tools = tools(func(ctx context.Context, _ llm.Call) (llm.Result, error) {
					m.sulk(away)
					w.inbox.Store = store // somebody else's way in is open
					if err := w.say("and hurry"); err != nil {
						t.Error(err)
					}
					select {
					case <-time.After(2 * time.Second):
						ended = "by itself"
					case <-ctx.Done():
						ended = "killed"
					}
					return llm.Result{Text: "deployed version 7"}, nil
				})
				model := &counted{Model: w.model}
				w.runner.Model = model
				w.model.Add("call act {}")
				w.model.Add("expect deployed version 7\nrefuse outcome unknown: \nsay ok")
				w.start()
				if err := w.say("go"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(away + time.Minute)
				synctest.Wait()
				w.stop()
				wantLines(t, w.board, "answer ok", "steps Done: act done")
				if ended != "by itself" || model.calls.Load() != 2 {
					t.Errorf("the side effect ended %s, after %d model calls; want by itself, and 2", ended, model.calls.Load())
				}
			})
		})
	}
}

// While the store takes no writes no model is called, and it is said once; when it
// takes them again everything goes on.
func TestFullStoreCostsNoModelCalls(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		m := &moody{Full: store}
		w := newWorld(t, m, nil)
		model := &counted{Model: w.model}
		w.runner.Model = model
		w.model.Add("say one")
		w.model.Add("say two")
		w.start()
		if err := w.say("first"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		m.away.Store(true)
		w.inbox.Store = store
		if err := w.say("second"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := model.calls.Load(); n > 2 {
			t.Errorf("%d model calls in an hour of a full disk, want at most one that waits", n-1)
		}
		wantLines(t, w.board, "answer one")
		m.away.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer two")
		if n := model.calls.Load(); n != 2 {
			t.Errorf("%d model calls, want 2", n)
		}
	})
}

// An entry that can't be read is the trouble of its own thread, which is told so
// once; other threads are answered, and `forget` starts it afresh.
func TestBrokenThread(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]memory.Body{
		"broken":  memory.Broken{Raw: []byte(`{"k":"step","v":1,"b":5}`)},
		"unknown": memory.Unknown{Name: "dreamt", Raw: []byte(`{"k":"dreamt","v":9,"b":{}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				w := newWorld(t, store, nil)
				w.model.Add("say Fine here.")
				w.model.Add("say Afresh.")
				if _, err := store.Put(t.Context(), w.thread, b, "x"); err != nil {
					t.Fatal(err)
				}
				w.start()
				said := func(root, text string) {
					w.thread.Root = root
					if err := w.say(text); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Minute)
					synctest.Wait()
				}
				said("1", "hello?")
				said("1", "anybody?")
				said("2", "how are you?")
				said("1", "forget")
				said("1", "again")
				w.stop()
				wantLines(t, w.board,
					"notice I can't read what was kept of this thread, so I leave it alone. Whoever runs me finds the cause in the log; `forget` starts it afresh.",
					"answer Fine here.", "notice Forgotten. I remember nothing of what was said here before.", "answer Afresh.")
			})
		})
	}
}

// A skippable entry of a later build disturbs nothing.
func TestSkippedEntry(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		w.model.Add("say Hello.")
		if _, err := store.Put(t.Context(), w.thread, memory.Unknown{Name: "hummed", Skip: true, Raw: []byte(`{"k":"hummed","v":9,"s":true,"b":{}}`)}, "x"); err != nil {
			t.Fatal(err)
		}
		w.start()
		if err := w.say("hello"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer Hello.")
	})
}

// slowly is a model that takes its time, but for those who say that they hurry.
type slowly struct{ release chan struct{} }

// Complete implements llm.Model.
func (s slowly) Complete(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	select {
	case <-s.release:
		return llm.Response{Text: "at last", Finish: "stop"}, nil
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
}

// A thousand turns that wait for a slow model hold up nobody else's `help`.
func TestThousandWaiting(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		model := slowly{make(chan struct{})}
		w.runner.Model = model
		var mu sync.Mutex
		said := map[string]int{}
		w.runner.Platforms["board"] = &still{posted: func(thread chat.ThreadID, p chat.Post) {
			mu.Lock()
			defer mu.Unlock()
			said[thread.Root]++
		}}
		w.start()
		for i := range 1000 {
			w.thread.Root = fmt.Sprint("slow", i)
			if _, err := w.inbox.Message(t.Context(), w.thread, chat.Message{From: chat.User{ID: "ada"}, Text: "think"}, w.thread.Root); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.thread.Root = "quick"
		if _, err := w.inbox.Message(t.Context(), w.thread, chat.Message{From: chat.User{ID: "bob"}, Text: "help"}, "help"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // no time passes
		mu.Lock()
		if len(said) != 1 || said["quick"] != 1 {
			t.Errorf("%d threads were answered, want the one that asked for help", len(said))
		}
		mu.Unlock()
		close(model.release)
		synctest.Wait()
		w.stop()
		if len(said) != 1001 {
			t.Errorf("%d threads were answered in the end, want 1001", len(said))
		}
	})
}

// other is a store as another process sees it: it has a name of its own, and hears
// of the first one as long as that lives.
type other struct {
	memory.Full
	self   string
	silent func(process string) time.Duration
}

// Self implements memory.Store.
func (o other) Self() string { return o.self }

// Silent implements memory.Store.
func (o other) Silent(_ context.Context, _ chat.ThreadID, process string) (time.Duration, error) {
	if process == o.self {
		return 0, nil
	}
	return o.silent(process), nil
}

// A call that another process began is not unknown as long as something may be
// heard of it: for its own timeout and ten seconds. What it comes to all the same
// is a correction, which people and the model are told.
func TestSilentProcess(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Timeout = time.Minute
		began, stuck, gone := make(chan struct{}), make(chan struct{}), make(chan struct{})
		first := newWorld(t, other{store, "first", nil}, func(context.Context, llm.Call) (llm.Result, error) {
			close(began)
			<-stuck // it dies with its process, as far as anybody can tell
			return llm.Result{}, nil
		}, act)
		first.model.Add("call act {}")
		first.start()
		if err := first.say("go"); err != nil {
			t.Fatal(err)
		}
		<-began
		synctest.Wait()
		log, err := store.Read(t.Context(), first.thread)
		if err != nil {
			t.Fatal(err)
		}
		var call string
		for _, e := range log {
			if s, ok := e.Body.(memory.Started); ok {
				call = s.Call
			}
		}
		// The first process loses the thread, and a second one takes over.
		first.runner.Grace = time.Millisecond
		go func() { first.stop(); close(gone) }()
		since := time.Now()
		w := newWorld(t, other{store, "second", func(string) time.Duration { return time.Since(since) }}, nil, act)
		w.board = first.board
		w.runner.Platforms["board"] = w.board
		w.model.Add("expect outcome unknown\nsay I don't know.")
		w.model.Add("expect Later it became known\nsay It is done.")
		w.start()
		time.Sleep(65 * time.Second)
		synctest.Wait()
		wantLines(t, w.board)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		first.board.Lines()
		late := memory.Result{Call: call, Tool: "act", State: chat.CallDone, Text: "deployed version 7"}
		if _, err := store.Put(t.Context(), w.thread, late, "late"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lines := strings.Join(w.board.Lines(), "\n")
		if !strings.Contains(lines, "notice It did end: act") || !strings.Contains(lines, "deployed version 7") {
			t.Errorf("people saw:\n%s\nwant a correction", lines)
		}
		if err := w.say("and?"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer It is done.")
		close(stuck)
		<-gone
	})
}

var _ run.Store = (*moody)(nil)

// A mistake between the moment when a call counts as begun and the one when it runs
// leaves nobody waiting for it.
func TestPanicWhenACallBegins(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "it ran"}, nil }, tool("act", false))
		var once sync.Once
		w.runner.Observe = func(_ *memory.Run, e memory.Entry) {
			if e.Body.Kind() == (memory.Started{}).Kind() {
				once.Do(func() { panic("a mistake in what observes") })
			}
		}
		w.model.Add("call act {}")
		w.model.Add("expect The call did not run\nsay It did not run.")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer It did not run.", "steps Done: act failed")
	})
}

// Logs of the first version give calls of different threads the same id. Each runs in
// its thread, and what comes of it stays there.
func TestCallsOfOneID(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		var mu sync.Mutex
		ran := map[string]int{}
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			mu.Lock()
			defer mu.Unlock()
			ran[c.Args]++
			return llm.Result{Text: "what came of " + c.Args}, nil
		}, tool("act", false))
		for _, who := range []string{"ada", "ben"} {
			thread := chat.ThreadID{Platform: "board", Channel: "c", Root: who}
			ref := chat.MessageRef{Platform: "board", Channel: "c", ID: who}
			if _, err := store.Put(t.Context(), thread, memory.Message{Message: chat.Message{Ref: ref, Text: who}}, who); err != nil {
				t.Fatal(err)
			}
			r, err := store.Next(t.Context(), "board")
			if err != nil {
				t.Fatal(err)
			}
			step := memory.Step{Turn: 1, N: 1, Seen: 1, Calls: []memory.Call{{ID: "1-1-1", Tool: "act", Args: `{"for":"` + who + `"}`, Object: true}}}
			if _, err := store.Commit(t.Context(), r, memory.Opened{Turn: 1, Name: "1"}, step); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Finish(t.Context(), r, time.Now()); err != nil {
				t.Fatal(err)
			}
			w.model.Add("say Done.")
		}
		w.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		w.stop()
		for _, who := range []string{"ada", "ben"} {
			args := `{"for":"` + who + `"}`
			log, err := store.Read(t.Context(), chat.ThreadID{Platform: "board", Channel: "c", Root: who})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range log {
				if r, ok := e.Body.(memory.Result); ok && r.Text != "what came of "+args {
					t.Errorf("the thread of %s has %q", who, r.Text)
				}
			}
			if ran[args] != 1 {
				t.Errorf("the call of %s ran %d times, want once", who, ran[args])
			}
		}
	})
}

// halved is a store whose answer to the commit of Started is lost, and the thread with
// it: another process has it then.
type halved struct {
	other
	gone atomic.Bool
}

// Next implements memory.Store.
func (h *halved) Next(ctx context.Context, platforms ...string) (*memory.Run, error) {
	if !h.gone.Load() {
		r, err := h.Full.Next(ctx, platforms...)
		if err != nil || !h.gone.Load() {
			return r, err
		}
		if _, err := h.Full.Finish(ctx, r, time.Now()); err != nil {
			return nil, err
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Commit implements memory.Store.
func (h *halved) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if h.gone.Load() {
		return nil, memory.ErrFenced
	}
	own, err := h.Full.Commit(ctx, r, bodies...)
	if _, ok := bodies[0].(memory.Started); ok && err == nil {
		h.gone.Store(true)
		_, err = h.Full.Finish(ctx, r, time.Now())
		return nil, errors.Join(memory.ErrFenced, err)
	}
	return own, err
}

// A call whose beginning was noted although the process was told that it was not, is
// told as one that did not run, also where another process has the thread by then: it
// would wait for as long as the first one lives.
func TestCallThatOnlySeemsToRun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		alive := func(string) time.Duration { return 0 }
		first := newWorld(t, &halved{other: other{store, "first", alive}}, func(context.Context, llm.Call) (llm.Result, error) {
			t.Error("the call ran")
			return llm.Result{}, nil
		}, tool("act", false))
		first.model.Add("call act {}")
		first.start()
		if err := first.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second := newWorld(t, other{store, "second", alive}, nil, tool("act", false))
		second.model.Add("expect The call did not run\nsay It did not run.")
		second.start()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		wantLines(t, second.board, "answer It did not run.", "steps Done: act failed")
		second.stop()
		first.stop()
	})
}

// A message that is put once more, by a store that lost that it had it, is answered once.
func TestMessagePutTwice(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		w.model.Add("say Hello.")
		w.start()
		m := chat.Message{
			Ref:  chat.MessageRef{Platform: "board", Channel: "c", ID: "hello"},
			From: chat.User{ID: "ada", Name: "ada"}, Text: "hello", Sent: time.Now(),
		}
		for _, id := range []string{"known", "known no more"} {
			if _, err := w.inbox.Message(t.Context(), w.thread, m, id); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		w.stop()
		wantLines(t, w.board, "answer Hello.")
	})
}
