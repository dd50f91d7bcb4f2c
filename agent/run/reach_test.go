package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Refer implements memory.Referrer.
func (f *fickle) Refer(ctx context.Context, ref chat.MessageRef, t chat.ThreadID) error {
	f.boundary()
	err := f.moody.Refer(ctx, ref, t)
	if err == nil {
		f.boundary()
	}
	return err
}

// A store that goes away at any boundary of an approval that reminds, lets more
// people decide and stands in a channel too has each clock strike once, each card
// posted once, and shows the decision everywhere.
func TestReachAtEveryBoundary(t *testing.T) {
	t.Parallel()
	everyBoundary(t, 20, func(n int64) (boundaries int64) { return reachAt(t, n) })
}

func reachAt(t *testing.T, n int64) (boundaries int64) {
	bubble(t, func(t *testing.T, store memory.Full) {
		f := &fickle{moody: moody{Full: store}, how: time.Second, at: n}
		act := tool("act", false)
		act.Risk, act.Timeout = policy.Ask, time.Minute
		act.Rules.Timeout, act.Rules.Remind, act.Rules.Channels = time.Hour, 10*time.Minute, []string{"ops"}
		act.Rules.Escalate = memory.Escalation{After: 20 * time.Minute, Approvers: []string{"user:bob"}}
		ran := 0
		w := newWorld(t, f, func(context.Context, llm.Call) (llm.Result, error) {
			ran++
			return llm.Result{Text: "deployed"}, nil
		}, act)
		w.inbox.Store = store
		w.model.Add("call act {}")
		w.model.Add("say done")
		w.start()
		wait := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		if err := w.say("go"); err != nil {
			t.Fatal(err)
		}
		wait(30 * time.Minute)
		card, ok := w.board.FindIn("channel:ops", "act")
		if !ok {
			t.Fatalf("boundary %d: nothing was asked in the channel", n)
		}
		if _, err := w.inbox.Reaction(t.Context(), chat.Reaction{On: card, By: chat.User{ID: "bob", Name: "bob"}, Emoji: "✅"}, "r1"); err != nil {
			t.Fatal(err)
		}
		wait(5 * time.Minute)
		w.stop()
		boundaries = f.count.Load()
		got := strings.Join(w.board.Lines(), "\n")
		for _, once := range []string{
			"\nin channel:ops: ask act {} of requester", "still waits for a decision", "so `user:bob` may decide too", "\nask act also of",
			"in channel:ops: ask act also of", "\napproved act by bob", "in channel:ops: approved act by bob", "answer done",
		} {
			if c := strings.Count("\n"+got, once); c != 1 {
				t.Errorf("boundary %d: %d times %q:\n%s", n, c, once, got)
			}
		}
		if ran != 1 || strings.Contains(got, "again") {
			t.Errorf("boundary %d: it ran %d times:\n%s", n, ran, got)
		}
	})
	return boundaries
}

// hasty is a store in which somebody votes on a card in another place as soon as the store
// knows its message, before the log does.
type hasty struct {
	memory.Full
	vote func(on chat.MessageRef)
}

// Refer implements memory.Referrer.
func (h *hasty) Refer(ctx context.Context, ref chat.MessageRef, t chat.ThreadID) error {
	err := h.Full.(memory.Referrer).Refer(ctx, ref, t)
	h.vote(ref)
	return err
}

// hastyWorld is a world in which people vote on the card of act in another place before the
// log names that card. The bot is asked, and all is over when it returns.
func hastyWorld(t *testing.T, store memory.Full, vote func(w *world, on chat.MessageRef)) (seen string) {
	t.Helper()
	act := tool("act", false)
	act.Risk, act.Rules.Timeout, act.Rules.Channels = policy.Ask, time.Hour, []string{"ops"}
	act.Rules.Approvers, act.Rules.Deny = []string{chat.Anyone}, []string{"❌"}
	h := &hasty{Full: store}
	w := newWorld(t, h, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{Text: "deployed"}, nil }, act)
	h.vote = func(on chat.MessageRef) { vote(w, on) }
	w.inbox.Store = store
	w.model.Add("call act {}")
	w.model.Add("say done")
	w.start()
	defer w.stop()
	if err := w.say("go"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute) // in the bubble's time
	synctest.Wait()
	return strings.Join(w.board.Lines(), "\n")
}

// casts puts a vote, and has the thread looked at before it goes on.
func (w *world) casts(on chat.MessageRef, who chat.UserID, emoji string, found bool) {
	w.t.Helper()
	r := chat.Reaction{On: on, By: chat.User{ID: who, Name: string(who)}, Emoji: emoji, Found: found}
	if fresh, err := w.inbox.Reaction(w.t.Context(), r, string(who)); err != nil || !fresh {
		w.t.Error("the vote was not put", err)
	}
	time.Sleep(time.Second) // in the bubble's time
}

// Of votes that were found on two cards of a call the denial wins, also where the log does
// not name one of the cards yet.
func TestDenialOnACopyOnItsWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		got := hastyWorld(t, store, func(w *world, on chat.MessageRef) {
			card, _ := w.board.Find("act")
			w.casts(card, "ada", "✅", true)
			w.casts(on, "bob", "❌", true)
		})
		if !strings.Contains(got, "denied act by bob") {
			t.Errorf("people saw:\n%s", got)
		}
	})
}

// A vote on a card in another place counts, although it came before the log named the card.
func TestVoteOnACopyOnItsWay(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		got := hastyWorld(t, store, func(w *world, on chat.MessageRef) { w.casts(on, "ada", "✅", false) })
		if !strings.Contains(got, "approved act by ada") || !strings.Contains(got, "answer done") {
			t.Errorf("people saw:\n%s", got)
		}
	})
}
