package run_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/internal/script"
	"nod/llm"
	"nod/memory"
)

// thoughtful is a store that does something before it says that entries are kept.
type thoughtful struct {
	memory.Full
	kept func(bodies []memory.Body)
}

// Commit implements memory.Store.
func (s *thoughtful) Commit(ctx context.Context, r *memory.Run, bodies ...memory.Body) ([]memory.Entry, error) {
	arrived, err := s.Full.Commit(ctx, r, bodies...)
	if err == nil {
		s.kept(bodies)
	}
	return arrived, err
}

// unsure is a platform that finds out only later who may decide.
type unsure struct {
	*script.Board
	known chan struct{}
}

// Deciders implements run.Platform.
func (u unsure) Deciders(ctx context.Context, thread chat.ThreadID, rules []string, most int) ([]chat.User, []string, error) {
	<-u.known
	return u.Board.Deciders(ctx, thread, rules, most)
}

// A message during a side effect is read at once, also together with an outcome that
// nobody waits for any more.
func TestHeardBesideAnOutcome(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, full memory.Full) {
		store := &thoughtful{Full: full}
		act := tool("act", false)
		act.Risk = policy.Ask
		act.Rules.Direct = true
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			time.Sleep(2 * time.Hour)
			return llm.Result{Text: "ok"}, nil
		}, tool("long", false), act)
		platform := unsure{w.board, make(chan struct{})}
		w.runner.Platforms["board"] = platform
		store.kept = func(bodies []memory.Body) {
			shown := slices.ContainsFunc(bodies, func(b memory.Body) bool {
				p, ok := b.(memory.Posted)
				return ok && strings.HasPrefix(p.Key, "outcome/")
			})
			if !shown {
				return
			}
			store.kept = func([]memory.Body) {}
			close(platform.known)
			if err := w.say("artifacts"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		w.model.Add("call long {}\ncall act {}")
		w.model.Add("say Done.")
		w.start()
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		ask, _ := w.board.Find("act")
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "r1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lines := strings.Join(w.board.Lines(), "\n"); !strings.Contains(lines, "notice") {
			t.Errorf("nobody answered; people saw:\n%s", lines)
		}
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		w.stop()
	})
}
