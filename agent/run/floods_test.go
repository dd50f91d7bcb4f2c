package run_test

import (
	"context"
	"fmt"
	"slices"
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

// flooding is a model that answers whoever says hello at once, and for all others does
// what floods.
type flooding func(ctx context.Context, req llm.Request) llm.Response

// Complete implements llm.Model.
func (f flooding) Complete(ctx context.Context, req llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	hello := func(m llm.Message) bool { return m.Role == llm.User && strings.Contains(m.Text, "hello") }
	if slices.ContainsFunc(req.Messages, hello) {
		return llm.Response{Text: "I am here.", Finish: "stop"}, nil
	}
	return f(ctx, req), nil
}

// calling is a completion that calls a tool as often as one may.
func calling(name string) llm.Response {
	r := llm.Response{Finish: "tool_calls"}
	for i := range 16 {
		r.Calls = append(r.Calls, llm.Call{ID: fmt.Sprint(i), Name: name, Args: fmt.Sprintf(`{"n":%d}`, i)})
	}
	return r
}

// drowning is a platform on which a thread's posts stand only once it is let.
type drowning struct {
	*script.Board
	slow  func(chat.ThreadID, chat.Post) bool
	free  chan struct{}
	stuck atomic.Int64
}

// Post implements run.Drawer.
func (d *drowning) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if d.slow(thread, p) {
		d.stuck.Add(1)
		select {
		case <-d.free:
		case <-ctx.Done():
			return chat.MessageRef{}, ctx.Err()
		}
		d.stuck.Add(-1)
	}
	return d.Board.Post(ctx, thread, p, look)
}

// hostileText is Markdown that costs whoever draws it much.
func hostileText(size int) string { return strings.Repeat("> - [a](`*_|<@U01>\n", size/19) }

// While one person's threads are flooded up to every limit, another thread is answered.
func TestFloodsHoldUpNobody(t *testing.T) {
	t.Parallel()
	result := func(req llm.Request) bool { return req.Messages[len(req.Messages)-1].Role == llm.ToolRole }
	for name, flood := range map[string]struct {
		model flooding
		slow  func(chat.ThreadID, chat.Post) bool // posts that do not stand while it lasts
		under func(said []string, d *drowning, results int64) bool
	}{
		"output of tools": {
			func(ctx context.Context, req llm.Request) llm.Response {
				if !result(req) {
					return calling("act")
				}
				<-ctx.Done() // it reads for ever
				return llm.Response{}
			}, nil,
			func(_ []string, _ *drowning, results int64) bool { return results == 5*16 },
		},
		"answers": {
			func(context.Context, llm.Request) llm.Response {
				return llm.Response{Text: hostileText(100 << 10), Finish: "stop"}
			}, func(thread chat.ThreadID, p chat.Post) bool { return p.Text != nil && thread.Channel == "c" },
			func(_ []string, d *drowning, _ int64) bool { return d.stuck.Load() == 5 },
		},
		"one person's approvals": {
			func(_ context.Context, req llm.Request) llm.Response {
				if result(req) {
					return llm.Response{Text: "too many", Finish: "stop"}
				}
				return calling("ask")
			}, func(_ chat.ThreadID, p chat.Post) bool { return p.Approval != nil },
			func(said []string, d *drowning, _ int64) bool {
				return d.stuck.Load() > 0 && strings.Count(strings.Join(said, "\n"), "answer too many") == 3
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, store memory.Full) {
				ask := tool("ask", false)
				ask.Risk = policy.Ask
				var results atomic.Int64
				w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
					results.Add(1)
					if c.Args == `{"n":0}` {
						return llm.Result{Text: hostileText(5 << 20)}, nil
					}
					return llm.Result{Text: hostileText(10 << 10)}, nil
				}, tool("act", true), ask)
				d := &drowning{Board: w.board, slow: flood.slow, free: make(chan struct{})}
				if d.slow == nil {
					d.slow = func(chat.ThreadID, chat.Post) bool { return false }
				}
				w.runner.Platforms["board"] = d
				w.runner.Model = flood.model
				w.start()
				for i := range 5 {
					says(t, w, "ada", chat.ThreadID{Platform: "board", Channel: "c", Root: fmt.Sprint(i)}, "flood")
				}
				time.Sleep(time.Second) // in the bubble's time
				synctest.Wait()
				says(t, w, "bob", chat.ThreadID{Platform: "board", Channel: "c2", Root: "9"}, "hello")
				time.Sleep(time.Second)
				synctest.Wait()
				said := w.board.Lines()
				if !slices.Contains(said, "answer I am here.") {
					t.Errorf("the other thread has no answer; people saw:\n%.2000s", strings.Join(said, "\n"))
				}
				if !flood.under(said, d, results.Load()) {
					t.Errorf("the flood is over, or never was: %d posts stand still, %d results", d.stuck.Load(), results.Load())
				}
				close(d.free)
				w.stop()
			})
		})
	}
}

// says has somebody write in a thread.
func says(t *testing.T, w *world, who string, thread chat.ThreadID, text string) {
	t.Helper()
	id := thread.Channel + thread.Root
	m := chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: thread.Channel, ID: id}, From: chat.User{ID: chat.UserID(who), Name: who}, Text: text}
	if _, err := w.inbox.Message(t.Context(), thread, m, id); err != nil {
		t.Fatal(err)
	}
}
