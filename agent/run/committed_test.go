package run_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// noon is a world in which a read says what time it is, and the model asks for it first.
func noon(t *testing.T, store memory.Full, answer string) *world {
	t.Helper()
	w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "noon"}, nil }, tool("look", true))
	w.model.Add("call look {}")
	w.model.Add("say " + answer)
	return w
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

// kinds are those of a thread's entries that a store has.
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

// A turn is committed before each thing that people see, what is decided together is one
// commit, and the last one is the release: beside the claim that is two without a tool, and
// five with one, or six where its steps stand only when its result is committed.
func TestCommitsOfATurn(t *testing.T) {
	t.Parallel()
	commits := func(most int64, model ...string) {
		bubble(t, func(t *testing.T, full memory.Full) {
			store := &tallied{Full: full}
			w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "noon"}, nil }, tool("look", true))
			w.inbox.Store = full
			for _, m := range model {
				w.model.Add(m)
			}
			w.plays("what time is it?")
			if n := store.asked.Load(); n > most {
				t.Errorf("the store was asked %d times, want %d at most; it has %s", n, most, kinds(t, full, w.thread))
			}
		})
	}
	commits(1+2, "say Noon.")
	commits(1+6, "call look {}", "say Noon.")
}

// No steps are seen of which the store does not know.
func TestSeenIsKnown(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := noon(t, store, "It is noon.")
		w.runner.Platforms["board"] = knowing{w.board, func() {
			if got := kinds(t, store, w.thread); !strings.HasPrefix(got, "message opened step") { // it may be further by now
				t.Errorf("the store has %s", got)
			}
		}}
		w.plays("what time is it?")
		wantLines(t, w.board, "answer It is noon.", "steps Done: look done")
	})
}

// knowing is a platform that looks at the store when it is to show steps.
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

// Steps that stand, and of which the store was not told before the process ended, are found by
// the next one.
func TestStepsAreFound(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		w := noon(t, full, "It is noon.")
		w.model.Add("say It is noon.")
		store := &mute{Full: full}
		w.runner.Store, w.runner.Grace = store, time.Second
		w.runner.Platforms["board"] = knowing{w.board, func() { store.away.Store(true) }}
		w.plays("what time is it?")
		if got := kinds(t, full, w.thread); !strings.HasPrefix(got, "message opened step") || strings.Contains(got, "posted") {
			t.Errorf("the store has %s", got)
		}
		w.runner.Platforms["board"] = w.board
		store.away.Store(false)
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
	away atomic.Bool
}

// Commit implements memory.Store.
func (s *mute) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if s.away.Load() {
		return nil, errAway
	}
	return s.Full.Commit(ctx, r, bodies...)
}

// Ping implements memory.Store.
func (s *mute) Ping(ctx context.Context) error {
	if s.away.Load() {
		return errAway
	}
	return s.Full.Ping(ctx)
}

// A message that arrives with the commit of an answer is heard: that was a draft.
func TestHeardWithTheAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &arriving{Full: full, with: func(b memory.Body) bool {
			s, ok := b.(memory.Step)
			return ok && s.Answer != ""
		}}
		w := noon(t, store, "It is noon.")
		w.inbox.Store = full
		store.arrives = func() error { return w.say("in Berlin, please") }
		w.model.Add("expect in Berlin, please\nsay It is noon in Berlin.")
		w.plays("what time is it?")
		wantLines(t, w.board, "answer It is noon in Berlin.", "steps Done: look done")
	})
}

// A vote that arrives with another commit is acted on: the thread is not let go with it.
func TestVoteWithACommit(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		ran := 0
		act := tool("act", false)
		act.Risk = policy.Ask
		store := &arriving{Full: full, with: func(b memory.Body) bool { return b.Kind() == memory.Result{}.Kind() }}
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			if c.Name == "act" {
				ran++
				return llm.Result{Text: "done"}, nil
			}
			time.Sleep(time.Second)
			return llm.Result{Text: "noon"}, nil
		}, act, tool("look", true))
		store.arrives = func() error {
			card, ok := w.board.Find("act")
			if !ok {
				t.Error("no card")
			}
			vote := chat.Reaction{On: card, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}
			_, err := (run.Inbox{Store: full, Emoji: w.inbox.Emoji, Agent: w.inbox.Agent}).Reaction(t.Context(), vote, "vote")
			return err
		}
		w.inbox.Store = full
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

// Able implements run.Platform.
func (paced) Able() chat.Able { return chat.Able{Pace: time.Hour, Grows: true} }

// arriving is a store to which something comes right before it is told of something.
type arriving struct {
	memory.Full
	arrives func() error
	with    func(memory.Body) bool
}

// Commit implements memory.Store.
func (s *arriving) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	if arrives := s.arrives; arrives != nil && slices.ContainsFunc(bodies, s.with) {
		s.arrives = nil
		if err := arrives(); err != nil {
			return nil, err
		}
	}
	return s.Full.Commit(ctx, r, bodies...)
}

// Steps that the platform does not take leave the answer as it is, and nothing to fold. An
// answer that it does not take leaves steps that are folded.
func TestRefusedStepsAndAnswers(t *testing.T) {
	t.Parallel()
	refused := chat.Refused{Platform: "Slack", Code: "msg_blocks_too_long"}
	bubble(t, func(t *testing.T, store memory.Full) {
		w := noon(t, store, "It is noon.")
		w.runner.Platforms["board"] = refusing{&watched{Board: w.board}, func(p chat.Post) bool { return p.Steps != nil }, refused}
		w.plays("what time is it?")
		wantLines(t, w.board, "answer It is noon.")
		if got := kinds(t, store, w.thread); !strings.HasSuffix(got, " posted ended") {
			t.Errorf("the store has %s", got)
		}
	})
	bubble(t, func(t *testing.T, store memory.Full) {
		w := noon(t, store, "It is noon.")
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = refusing{seen, func(p chat.Post) bool { return p.Text != nil && !p.Text.Notice }, refused}
		w.plays("what time is it?")
		if seen.last() != "Done" || w.board.StepsMessages() != 1 {
			t.Errorf("the steps end as %q, in %d messages", seen.status, w.board.StepsMessages())
		}
		if got := strings.Join(w.board.Lines(), "\n"); !strings.Contains(got, "refused my answer") {
			t.Errorf("people saw:\n%s", got)
		}
	})
}
