package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/chat"
	"nod/internal/redistest"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
	"nod/memory/redis"
)

// tools is a toolbox made of one function.
type tools func(ctx context.Context, c llm.Call) (llm.Result, error)

// Call implements run.Toolbox.
func (f tools) Call(ctx context.Context, _ chat.Desk, c llm.Call) (llm.Result, error) {
	return f(ctx, c)
}

// world is one process over a store, in a bubble of time.
type world struct {
	t      *testing.T
	store  memory.Full
	board  *script.Board
	model  *script.Model
	runner *run.Runner
	inbox  run.Inbox
	thread chat.ThreadID
	cancel context.CancelFunc
	done   chan struct{}

	reactions int // that were put
}

func newWorld(t *testing.T, store memory.Full, f tools, list ...policy.Tool) *world {
	w := &world{
		t: t, store: store, board: &script.Board{}, model: &script.Model{Complain: t.Errorf},
		inbox:  run.Inbox{Store: store, Emoji: map[string]bool{"✅": true, "❌": true}},
		thread: chat.ThreadID{Platform: "board", Channel: "c", Root: "1"},
	}
	w.runner = &run.Runner{
		Store: store, Model: w.model, Tools: f, Platforms: map[string]run.Platform{"board": w.board},
		Agent: &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 9, Count: func(s string) int { return len(s) }, Tools: list},
		Grace: 10 * time.Second,
	}
	w.inbox.Agent = w.runner.Agent
	return w
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.done = cancel, make(chan struct{})
	go func() {
		defer close(w.done)
		if err := w.runner.Run(ctx); err != nil {
			w.t.Errorf("run: %v", err)
		}
	}()
}

func (w *world) stop() {
	w.cancel()
	<-w.done
}

func (w *world) say(text string) error {
	_, err := w.inbox.Message(w.t.Context(), w.thread, chat.Message{
		Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: text}, From: chat.User{ID: "ada", Name: "ada"}, Text: text,
	}, text)
	return err
}

func tool(name string, readOnly bool) policy.Tool {
	return policy.Tool{Tool: llm.Tool{Name: name, Parameters: []byte(`{"type":"object"}`)}, Risk: policy.Auto, ReadOnly: readOnly, Rules: script.Rules()}
}

func bubble(t *testing.T, f func(t *testing.T, store memory.Full)) {
	t.Helper()
	bubbleOn(t, openFile, f)
}

func bubbleOn(t *testing.T, open script.OpenStore, f func(t *testing.T, store memory.Full)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store, err := open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}()
		f(t, store)
	})
}

func wantLines(t *testing.T, b *script.Board, want ...string) {
	t.Helper()
	if got := strings.Join(b.Lines(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("people saw:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// Read-only calls of one step run at the same time, and their results keep the
// order of the calls.
func TestReadsRunTogether(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		var together sync.WaitGroup
		together.Add(2) // each call waits for the other one to have begun
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			together.Done()
			together.Wait()
			return llm.Result{Text: "result " + c.Args}, nil
		}, tool("read", true))
		w.model.Add("call read {\"n\":1}\ncall read {\"n\":2}")
		w.model.Add("expect [tool] result {\"n\":1}\\n[tool] result {\"n\":2}\nsay ok")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer ok", "steps Done: read done, read done")
	})
}

// A limited number of a step's reads run at once, and the others after them.
func TestReadsAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		var mu sync.Mutex
		running, most := 0, 0
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			running += by
			most = max(most, running)
		}
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			count(1)
			time.Sleep(time.Second) // in the bubble's time: all that may run do
			count(-1)
			return llm.Result{Text: "result " + c.Args}, nil
		}, tool("read", true))
		var calls []string
		for n := range 16 {
			calls = append(calls, fmt.Sprintf("call read {\"n\":%d}", n))
		}
		w.model.Add(strings.Join(calls, "\n"))
		w.model.Add("expect result {\"n\":15}\nsay ok")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.stop()
		if most != 8 {
			t.Errorf("%d reads ran at once", most)
		}
	})
}

// A process that drains finishes the step that runs, and hands the thread on;
// the next one goes on where it was.
func TestDrain(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		ran := 0
		w := newWorld(t, store, func(ctx context.Context, _ llm.Call) (llm.Result, error) {
			ran++
			select {
			case <-time.After(5 * time.Second):
				return llm.Result{Text: "finished"}, nil
			case <-ctx.Done():
				return llm.Result{}, ctx.Err()
			}
		}, tool("act", false))
		w.model.Add("call act {}")
		w.model.Add("expect finished\nsay ok")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop() // within the grace the tool comes to its end
		wantLines(t, w.board)
		w.start()
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer ok", "steps Done: act done")
		if ran != 1 {
			t.Errorf("the side effect ran %d times", ran)
		}
	})
}

// A drain waits for a side effect as long as that may take, whatever the grace,
// and its outcome is kept for the next process.
func TestDrainWaitsForAnEffect(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		ran := 0
		act := tool("act", false)
		act.Timeout = 10 * time.Minute
		w := newWorld(t, store, func(ctx context.Context, _ llm.Call) (llm.Result, error) {
			ran++
			select {
			case <-time.After(9 * time.Minute):
				return llm.Result{Text: "deployed version 7"}, nil
			case <-ctx.Done():
				return llm.Result{}, ctx.Err()
			}
		}, act)
		w.model.Add("call act {}")
		w.model.Add("expect deployed version 7\nrefuse outcome unknown: \nsay it is done")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		w.stop()
		if took := time.Since(began); took < 8*time.Minute {
			t.Errorf("the drain took %v, and did not wait for the side effect", took)
		}
		w.start()
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "answer it is done", "steps Done: act done")
		if ran != 1 {
			t.Errorf("the side effect ran %d times", ran)
		}
	})
}

// An error of a tool is for the operator; the model is told that it failed, the
// turn goes on, and what it made is kept.
func TestToolFaultsAndFiles(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			if c.Name == "broken" {
				return llm.Result{}, errors.New("no such socket")
			}
			return llm.Result{Text: "a plot", Files: []llm.File{{Name: "plot.png", MediaType: "image/png", Data: []byte("PNG")}}}, nil
		}, tool("broken", true), tool("plot", true))
		w.model.Add("call broken {}\ncall plot {}")
		w.model.Add("expect The tool failed inside\nrefuse no such socket\nsay ok")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "file plot.png", "answer ok", "steps Done: broken failed, plot done")
		log, err := store.Read(t.Context(), w.thread)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range log {
			if r, ok := e.Body.(memory.Result); ok && len(r.Artifacts) == 1 {
				data, err := store.Blob(t.Context(), w.thread, r.Artifacts[0].Blob)
				if err != nil || string(data) != "PNG" {
					t.Errorf("the plot is %q, %v", data, err)
				}
				return
			}
		}
		t.Error("no result names the plot")
	})
}

// A drain does not wait for a platform that is away: what could not be posted is
// posted by the next process.
func TestDrainWhileThePlatformIsAway(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		w.model.Add("say ok")
		w.board.Fail(1000)
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Second)
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the drain took %v", took)
		}
		w.board.Fail(0)
		w.start()
		<-time.After(time.Minute)
		w.stop()
		wantLines(t, w.board, "answer ok")
	})
}

// oblivious is a platform that can't find out who may decide, and takes five seconds
// for a text.
type oblivious struct {
	*script.Board
	cut *atomic.Int64
}

// Deciders implements run.Platform.
func (oblivious) Deciders(context.Context, chat.ThreadID, []string, int) ([]chat.User, []string, error) {
	return nil, nil, errAway
}

// Post implements run.Drawer.
func (o oblivious) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if p.Text != nil {
		time.Sleep(5 * time.Second)
	}
	if ctx.Err() != nil {
		o.cut.Add(1)
	}
	return o.Board.Post(ctx, thread, p, look)
}

// A drain waits for a post that is on its way, whatever else of the thread fails
// meanwhile.
func TestDrainWaitsForAPost(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		act.Rules.Direct = true
		w := newWorld(t, store, nil, act)
		platform := oblivious{w.board, &atomic.Int64{}}
		w.runner.Platforms["board"] = platform
		w.model.Add("call act {}")
		w.start()
		for _, text := range []string{"act", "artifacts"} {
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		w.stop()
		time.Sleep(10 * time.Second)
		if n := platform.cut.Load(); n > 0 {
			t.Errorf("%d posts were ended while the platform took them", n)
		}
	})
}

// tongueTied is a platform that tells nobody anything alone until it is released.
type tongueTied struct {
	*script.Board
	released chan struct{}
}

// Whisper implements run.Drawer.
func (p tongueTied) Whisper(context.Context, chat.ThreadID, chat.User, chat.MessageRef, string) error {
	<-p.released
	return nil
}

// A drain waits no longer than its grace for what is told to one person, which the
// platform may hold back for as long as it likes.
func TestDrainWhileSomebodyIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, nil, act)
		platform := tongueTied{w.board, make(chan struct{})}
		time.AfterFunc(time.Hour, func() { close(platform.released) })
		w.runner.Platforms["board"] = platform
		w.model.Add("call act {}")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ask, _ := w.board.Find("act")
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ben", Name: "ben"}, Emoji: "✅"}, "r1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		w.stop()
		if took := time.Since(began); took > w.runner.Grace {
			t.Errorf("the drain took %v", took)
		}
		time.Sleep(time.Hour)
	})
}

// At info and above nothing is logged of what people, tools or the model say.
func TestLogsHoldNoText(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		var logs bytes.Buffer
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			return llm.Result{Text: "MARK-result"}, errors.New("socket closed")
		}, tool("act", false))
		w.runner.Log = slog.New(slog.NewJSONHandler(&logs, nil))
		w.model.Add("think MARK-thought\ncall act {\"a\":\"MARK-args\"}")
		w.model.Add("say MARK-answer")
		w.model.Add("fail unreachable")
		w.board.Fail(2)
		w.start()
		for _, text := range []string{"MARK-one", "MARK-two"} {
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		w.stop()
		if strings.Contains(logs.String(), "MARK") {
			t.Errorf("the logs hold text:\n%s", logs.String())
		}
		if !strings.Contains(logs.String(), `"event":"started"`) || !strings.Contains(logs.String(), "the platform is down") {
			t.Errorf("the logs lack the audit, or the failure:\n%s", logs.String())
		}
	})
}

// While the store is down nothing is taken in and nothing runs; when it is back
// everything goes on by itself.
func TestStoreDownAndBack(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	store, err := redis.Open(t.Context(), srv.URL(), redis.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	answered := make(chan struct{}, 2)
	w := newWorld(t, store, nil)
	w.runner.Platforms = map[string]run.Platform{"board": &still{posted: func(_ chat.ThreadID, p chat.Post) {
		if p.Text != nil {
			answered <- struct{}{}
		}
	}}}
	w.model.Add("say one")
	w.model.Add("say two")
	w.start()
	defer w.stop()
	if err := w.say("first"); err != nil {
		t.Fatal(err)
	}
	<-answered
	srv.Kill(t)
	if err := w.say("second"); err == nil {
		t.Error("a message was taken in while the store was down")
	}
	srv.Restart(t)
	for w.say("second") != nil { // the platform delivers it again until it is taken in
		if t.Context().Err() != nil {
			t.Fatal("the store did not come back")
		}
	}
	<-answered
}
