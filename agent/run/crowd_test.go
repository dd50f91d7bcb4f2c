package run_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/llm/queue"
	"nod/memory"
	"nod/memory/sqlite"
)

// slow is a model that takes a second for a call, and gives up one that takes
// longer than five.
type slow struct{}

// Complete implements llm.Model.
func (slow) Complete(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	select {
	case <-time.After(time.Second): // in the bubble's time
	case <-ctx.Done():
		return llm.Response{}, &llm.Error{Fault: llm.Timeout}
	}
	if last := req.Messages[len(req.Messages)-1]; strings.Contains(last.Text, "deploy") && last.Role == llm.User {
		return llm.Response{Calls: []llm.Call{{ID: "1", Name: "deploy", Args: `{}`}}, Finish: "tool_calls"}, nil
	}
	return llm.Response{Text: "done", Finish: "stop"}, nil
}

// ledger is a platform that notes when a thread was answered, told something or
// asked.
type ledger struct {
	script.Board
	mu       sync.Mutex
	answers  map[chat.ThreadID]int
	notices  map[chat.ThreadID][]string
	noticed  time.Time
	approval chat.MessageRef
}

// Post implements run.Drawer.
func (l *ledger) Post(_ context.Context, thread chat.ThreadID, p chat.Post, _ bool) (chat.MessageRef, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ref := chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: thread.Root + p.Key}
	switch {
	case p.Approval != nil:
		l.approval = ref
	case p.Text != nil && p.Text.Notice:
		l.notices[thread], l.noticed = append(l.notices[thread], p.Text.Markdown), time.Now()
	case p.Text != nil:
		l.answers[thread]++
	}
	return ref, nil
}

// Edit implements run.Drawer.
func (*ledger) Edit(context.Context, chat.ThreadID, chat.MessageRef, chat.Post) error { return nil }

// clocked is a toolbox that notes when it was called.
type clocked struct {
	mu sync.Mutex
	at time.Time
}

// Call implements run.Toolbox.
func (c *clocked) Call(context.Context, chat.Desk, llm.Call) (llm.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Now()
	return llm.Result{Text: "ok"}, nil
}

// A thousand threads wait for a model that takes one call at a time, far longer than
// a call may take: all are answered, none is told that it took too long, and
// meanwhile `help` is answered and what was approved runs at once.
func TestCrowd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	synctest.Test(t, func(t *testing.T) { crowd(t, path, 300) })
}

func crowd(t *testing.T, path string, threads int) {
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	desk := &ledger{answers: map[chat.ThreadID]int{}, notices: map[chat.ThreadID][]string{}}
	tools := &clocked{}
	a := &agent.Agent{Protocol: speak.NativeTools{}, MaxSteps: 12, Count: func(s string) int { return len(s) }, Tools: []policy.Tool{
		{Tool: llm.Tool{Name: "deploy", Description: "Deploy.", Parameters: []byte(`{"type":"object"}`)}, Risk: policy.Ask, Rules: script.Rules()},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	r := &run.Runner{Store: store, Agent: a, Model: queue.New(slow{}, 1), Tools: tools, Platforms: map[string]run.Platform{"board": desk}}
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	say := func(thread chat.ThreadID, text string) {
		m := chat.Message{
			Ref:  chat.MessageRef{Platform: "board", Channel: thread.Channel, ID: thread.Root + text},
			From: chat.User{ID: "ada", Name: "ada"}, Text: text, Sent: time.Now(),
		}
		if _, err := store.Put(t.Context(), thread, memory.Message{Message: m}, m.Ref.ID); err != nil {
			t.Error(err)
		}
	}
	say(benchThread(0), "deploy it")
	time.Sleep(3 * time.Second)
	for i := 1; i <= threads; i++ {
		say(benchThread(i), "hello")
	}
	time.Sleep(10 * time.Second)

	start := time.Now()
	say(benchThread(threads), "help")
	inbox := run.Inbox{Store: store, Emoji: map[string]bool{"✅": true}}
	desk.mu.Lock()
	on := desk.approval
	desk.mu.Unlock()
	if _, err := inbox.Reaction(t.Context(), chat.Reaction{On: on, By: chat.User{ID: "ada"}, Emoji: "✅"}, "vote"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	desk.mu.Lock()
	tools.mu.Lock()
	if late := desk.noticed.Sub(start); late < 0 || late > time.Second {
		t.Errorf("help was answered after %v", late)
	}
	if late := tools.at.Sub(start); late < 0 || late > time.Second {
		t.Errorf("what was approved ran after %v", late)
	}
	tools.mu.Unlock()
	desk.mu.Unlock()

	time.Sleep(time.Duration(threads+60) * time.Second)
	cancel()
	done.Wait()
	for i := range threads + 1 {
		id := benchThread(i)
		if desk.answers[id] != 1 {
			t.Errorf("thread %d was answered %d times", i, desk.answers[id])
		}
		if told := desk.notices[id]; len(told) > 0 && i != threads {
			t.Errorf("thread %d was told %q", i, told)
		}
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}
