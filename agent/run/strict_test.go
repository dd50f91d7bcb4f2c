package run_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nod/agent"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/chat"
	"nod/internal/fakellm"
	"nod/llm"
	"nod/llm/openai"
	"nod/memory"
	"nod/memory/sqlite"
)

// restless answers as a model of any protocol does that uses the clock as long as it
// may, and finds a first answer wrong.
func restless(req fakellm.Request) fakellm.Reply {
	last := req.Last().Text()
	switch {
	case strings.Contains(last, "Write a plan"):
		return fakellm.Reply{Text: "1. Look at the clock."}
	case strings.Contains(last, "Check the last answer"):
		return fakellm.Reply{Text: "That is too vague."}
	case len(req.Tools) > 0:
		return fakellm.Reply{Text: "I look.", Calls: []fakellm.Call{{Name: "clock", Args: `{}`}, {Name: "clock", Args: `{"zone":"UTC"}`}}}
	case strings.HasSuffix(last, "\nThought: "):
		return fakellm.Reply{Text: "I look.\nAction: clock\nAction Input: {}"}
	case strings.Contains(last, "\nThought ") && strings.HasSuffix(last, ":"):
		return fakellm.Reply{Text: " I look.\nAction 1: Clock[]"}
	}
	return fakellm.Reply{Text: "noon"}
}

// mistral refuses besides that a person's message stands right behind a result.
func mistral(refused *atomic.Int64) func(fakellm.Request) fakellm.Reply {
	return func(req fakellm.Request) fakellm.Reply {
		for i, m := range req.Messages {
			if i > 0 && m.Role == "user" && req.Messages[i-1].Role == "tool" {
				refused.Add(1)
				return fakellm.Reply{Status: 400, Fault: "Unexpected role 'user' after role 'tool'"}
			}
		}
		return restless(req)
	}
}

// changing is a model that becomes another one.
type changing struct {
	models []llm.Model
	now    atomic.Int64
}

// Complete implements llm.Model.
func (c *changing) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	return c.models[c.now.Load()].Complete(ctx, req, watch)
}

// Every protocol with every strategy, with pictures, messages that come together,
// used up calls and another model in the middle of the thread: nothing that is sent
// is refused by servers that refuse whatever any server refuses, and every turn is
// answered.
func TestStrictServers(t *testing.T) {
	t.Parallel()
	for name, protocol := range map[string]speak.Protocol{"tools": speak.NativeTools{}, "react": speak.React{}, "numbered": speak.Numbered{}} {
		for _, strategy := range []strategy.Kind{strategy.Straight, strategy.Plan, strategy.Reflexion, strategy.Branch} {
			t.Run(name+" "+string(strategy), func(t *testing.T) {
				t.Parallel()
				strictly(t, protocol, strategy)
			})
		}
	}
}

func strictly(t *testing.T, protocol speak.Protocol, strategy strategy.Kind) {
	var learnt atomic.Int64
	servers := []*fakellm.Server{fakellm.Start(t, restless), fakellm.Start(t, mistral(&learnt))}
	model := &changing{}
	for i, s := range servers {
		model.models = append(model.models, openai.New(openai.Options{BaseURL: s.URL, Model: fmt.Sprint("m", i), Stream: i == 0}))
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan chat.Post, 100)
	desk := &still{posted: func(_ chat.ThreadID, p chat.Post) {
		if p.Text != nil {
			answers <- p
		}
	}}
	clock := policy.Tool{Tool: llm.Tool{Name: "clock", Description: "Says the time.", Parameters: []byte(`{"type":"object","properties":{"zone":{"type":"string"}}}`)}, Risk: policy.Auto, ReadOnly: true}
	a := &agent.Agent{
		Instructions: "Be brief.", Examples: []speak.Example{{User: "hi", Assistant: "Hello."}}, Protocol: protocol, Strategy: strategy,
		Retries: 1, MaxSteps: 6, Budget: 4000, Count: func(s string) int { return len(s)/4 + 1 }, Tools: []policy.Tool{clock},
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &run.Runner{Store: store, Agent: a, Model: model, Tools: nothing{}, Platforms: map[string]run.Platform{"board": desk}}
	var done sync.WaitGroup
	done.Go(func() {
		if err := r.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	defer func() {
		cancel()
		done.Wait()
		_ = store.Close()
	}()
	for turn := range 4 {
		model.now.Store(int64(turn % len(servers)))
		for i := range 2 {
			sayWithPicture(t, store, fmt.Sprint(turn, "-", i))
		}
		await(t, answers, turn)
	}
	for _, s := range servers {
		if bad := s.Refused(); len(bad) > 0 {
			t.Errorf("refused %d times, such as: %s", len(bad), bad[0])
		}
	}
	if n := learnt.Load(); n > 1 {
		t.Errorf("%d refusals of what is to be learnt once", n)
	}
}

func sayWithPicture(t *testing.T, store memory.Full, id string) {
	t.Helper()
	thread := benchThread(1)
	blob, err := store.PutBlob(t.Context(), thread, []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"))
	if err != nil {
		t.Fatal(err)
	}
	m := chat.Message{
		Ref: chat.MessageRef{Platform: "board", Channel: thread.Channel, ID: id}, From: chat.User{ID: "ada", Name: "ada"}, Text: "what time is it there?",
		Files: []chat.File{{Name: "p.png", MediaType: "image/gif", Size: 13, Blob: blob}},
	}
	if _, err := store.Put(t.Context(), thread, memory.Message{Message: m}, id); err != nil {
		t.Fatal(err)
	}
}

// await waits for an answer, and for no word that there is none.
func await(t *testing.T, answers <-chan chat.Post, turn int) {
	t.Helper()
	select {
	case p := <-answers:
		if p.Text.Notice || !strings.Contains(p.Text.Markdown, "noon") {
			t.Errorf("turn %d: %q", turn, p.Text.Markdown)
		}
	case <-time.After(5 * time.Minute): // only a failing test waits for it
		t.Fatalf("turn %d was not answered", turn)
	}
}
