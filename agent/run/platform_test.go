package run_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
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

// A platform that has a mistake in it, or that refuses a post for good, holds up
// nobody: what it does not take is said, or given up, and the next question is
// answered.
func TestRefusedPosts(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w := newWorld(t, store, nil)
		w.runner.Platforms["board"] = picky{w.board}
		w.model.Add("say a rude word")
		w.model.Add("say a panic")
		w.model.Add("say Hello.")
		w.start()
		for _, text := range []string{"one", "two", "three"} {
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Hour)
			synctest.Wait()
		}
		w.stop()
		wantLines(t, w.board, "notice Slack refused my answer (rude: no such words)", "answer Hello.")
	})
}

// picky is a platform that takes no rude words, and panics at others.
type picky struct{ *script.Board }

// Post implements run.Drawer.
func (p picky) Post(ctx context.Context, thread chat.ThreadID, post chat.Post, look bool) (chat.MessageRef, error) {
	switch {
	case post.Text != nil && strings.Contains(post.Text.Markdown, "rude word"):
		return chat.MessageRef{}, chat.Refused{Platform: "Slack", Code: "rude", Words: "no such words"}
	case post.Text != nil && strings.Contains(post.Text.Markdown, "panic"):
		panic("a mistake in the adapter")
	}
	return p.Board.Post(ctx, thread, post, look)
}

// An approval that the platform refuses to show is denied at once, and says why.
func TestRefusedApproval(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, nil, act)
		w.runner.Platforms["board"] = refusing{
			&watched{Board: w.board}, func(p chat.Post) bool { return p.Approval != nil }, chat.Refused{Platform: "Discord", Code: "50013"},
		}
		w.model.Add("call act {}")
		w.model.Add("expect denied: it could not be shown\nsay I was not allowed to.")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, "notice Discord refused my answer (50013)", "answer I was not allowed to.", "steps Done: act denied")
	})
}

// refusing is a platform that takes some posts in no form.
type refusing struct {
	*watched
	refuses func(chat.Post) bool
	as      chat.Refused
}

// Post implements run.Drawer.
func (r refusing) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if r.refuses(p) {
		return chat.MessageRef{}, r.as
	}
	return r.watched.Post(ctx, thread, p, look)
}

// A card that the platform does not redraw shows the old arguments still, so that
// nobody can approve the new ones by it: the call is denied, and that is said.
func TestRefusedRedrawing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, func(_ context.Context, c llm.Call) (llm.Result, error) {
			t.Errorf("it runs with %s", c.Args)
			return llm.Result{}, nil
		}, act)
		w.runner.Platforms["board"] = stiff{w.board}
		w.model.Add(`call act {"n":1}`)
		w.model.Add("expect denied: the changed arguments could not be shown\nsay It was denied.")
		w.start()
		for _, text := range []string{"act", `edit {"n":2}`} {
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // by the bubble's clock: steps are folded a moment later
		}
		ask, _ := w.board.Find("act")
		_, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "r1")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, `ask act {"n":1} of requester`, "notice I could not show the changed arguments on the card, so the call is denied.",
			"answer It was denied.", "steps Done: act denied", "tell ada Your reaction does not count: it is already decided: Denied.")
	})
}

// stiff is a platform that redraws no cards.
type stiff struct{ *script.Board }

// Edit implements run.Drawer.
func (s stiff) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	if p.Approval != nil {
		return chat.Refused{Platform: "Slack", Code: "edit_window_closed"}
	}
	return s.Board.Edit(ctx, thread, ref, p)
}

// late is a platform on which the first edit of a card takes long.
type late struct {
	*script.Board
	first sync.Once
}

// Edit implements run.Drawer.
func (l *late) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	if p.Approval != nil {
		l.first.Do(func() { time.Sleep(time.Minute) })
		l.Note("card %s", p.Approval.Headline)
	}
	return l.Board.Edit(ctx, thread, ref, p)
}

// However slow the platform is, a card ends with what came of its call.
func TestSlowEdits(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) {
			time.Sleep(2 * time.Second)
			return llm.Result{Text: "exit status 1", Failed: true}, nil
		}, act)
		w.runner.Platforms["board"] = &late{Board: w.board}
		w.model.Add("call act {}")
		w.model.Add("say It failed.")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ask, _ := w.board.Find("act")
		_, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "✅"}, "r1")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		wantLines(t, w.board, `ask act {} of requester`, "card Approved by ada · running", "approved act by ada",
			"card Approved by ada · failed: exit status 1", "answer It failed.", "steps Done: act failed")
	})
}

// watched notes what the steps say while they are drawn.
type watched struct {
	*script.Board
	mu     sync.Mutex
	status []string
}

func (b *watched) see(p chat.Post) {
	if p.Steps != nil {
		b.mu.Lock()
		b.status = append(b.status, p.Steps.Status)
		b.mu.Unlock()
	}
}

// Post implements run.Drawer.
func (b *watched) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	b.see(p)
	return b.Board.Post(ctx, thread, p, look)
}

// Edit implements run.Drawer.
func (b *watched) Edit(ctx context.Context, thread chat.ThreadID, ref chat.MessageRef, p chat.Post) error {
	b.see(p)
	return b.Board.Edit(ctx, thread, ref, p)
}

// At no moment do the steps say that a call runs that people are asked about, or
// that they denied, be it that why is still being written.
func TestStepsOfACallThatNeverRuns(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, nil, act)
		w.inbox.Emoji["❌"] = true
		seen := &watched{Board: w.board}
		w.runner.Platforms["board"] = seen
		w.model.Add("call act {}")
		w.model.Add("say As you like.")
		w.start()
		if err := w.say("act"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ask, _ := w.board.Find("act")
		_, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: ask, By: chat.User{ID: "ada", Name: "ada"}, Emoji: "❌", Button: true}, "r1")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.stop()
		if len(seen.status) == 0 || slices.ContainsFunc(seen.status, func(s string) bool { return strings.HasPrefix(s, "Running") }) {
			t.Errorf("the steps said %q", seen.status)
		}
	})
}

// homely is a platform that shows cards in their thread alone.
type homely struct{ *script.Board }

// Able implements run.Platform.
func (homely) Able() chat.Able { return chat.Able{} }

// Places in which cards are to stand, and that no platform has, are named once at the
// start; a platform that has them is reason enough to say nothing.
func TestPlacesThatNobodyHas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		also map[string]run.Platform
		want int
	}{
		"none": {nil, 1},
		"one":  {map[string]run.Platform{"other": &script.Board{}}, 0},
	} {
		bubble(t, func(t *testing.T, store memory.Full) {
			act := tool("act", false)
			act.Risk, act.Rules.Channels, act.Rules.Direct = policy.Ask, []string{"C1"}, true
			w := newWorld(t, store, nil, act)
			w.runner.Platforms = map[string]run.Platform{"board": homely{w.board}}
			maps.Copy(w.runner.Platforms, tt.also)
			var logs bytes.Buffer
			w.runner.Log = slog.New(slog.NewTextHandler(&logs, nil))
			w.model.Add("call act {}")
			w.start()
			if err := w.say("act"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			w.stop()
			if n := strings.Count(logs.String(), "channels=[C1] dm=true"); n != tt.want {
				t.Errorf("%s: it is said %d times, want %d:\n%s", name, n, tt.want, logs.String())
			}
		})
	}
}
