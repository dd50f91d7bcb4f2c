package run_test

import (
	"context"
	"fmt"
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

// slowBook is a platform that takes a second for each look-up of people, and counts them.
type slowBook struct {
	*script.Board
	groups, accounts atomic.Int64
}

// Members implements run.Members.
func (b *slowBook) Members(ctx context.Context, thread chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error) {
	b.groups.Add(1)
	time.Sleep(time.Second) // in the bubble's time
	return b.Board.Members(ctx, thread, rule, who)
}

// Who implements run.Members.
func (b *slowBook) Who(ctx context.Context, channel string, u chat.User) (chat.User, error) {
	b.accounts.Add(1)
	time.Sleep(time.Second)
	return b.Board.Who(ctx, channel, u)
}

// asksFor is a thread in which a call waits for an approval by these rules. look has some
// seconds pass, and gives all that people saw.
func asksFor(t *testing.T, store memory.Full, quorum int, rules ...string) (w *world, book *slowBook, look func(seconds int) string) {
	deploy := tool("deploy", false)
	deploy.Risk, deploy.Rules.Approvers, deploy.Rules.Quorum = policy.Ask, rules, quorum
	w = newWorld(t, store, func(context.Context, llm.Call) (llm.Result, error) { return llm.Result{}, nil }, deploy)
	w.inbox.Emoji["❌"] = true
	book = &slowBook{Board: w.board}
	w.board.Groups = map[string][]chat.UserID{"group:ops": {"ben", "cid"}}
	w.runner.Platforms["board"] = book
	w.model.Add("call deploy {}")
	w.model.Add("say Done.")
	w.start()
	if err := w.say("deploy"); err != nil {
		t.Fatal(err)
	}
	said := ""
	look = func(seconds int) string {
		time.Sleep(time.Duration(seconds) * time.Second)
		synctest.Wait()
		said += strings.Join(w.board.Lines(), "\n") + "\n"
		return said
	}
	look(5)
	return w, book, look
}

const ran = "answer Done." // as people see it

// votes puts votes on the card: NAME EMOJI, and `off` where it is taken back.
func (w *world) votes(votes ...string) {
	w.t.Helper()
	on, _ := w.board.Find("deploy")
	for _, v := range votes {
		f := strings.Fields(v)
		w.reactions++
		r := chat.Reaction{On: on, By: chat.User{ID: chat.UserID(f[0]), Name: f[0]}, Emoji: f[1], Removed: len(f) > 2}
		if _, err := w.inbox.Reaction(w.t.Context(), r, fmt.Sprint("r", w.reactions)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The requester's own vote decides without waiting for the look-ups behind those of 150
// strangers, and these cost one look-up of the group.
func TestStrangersHoldUpNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, book, look := asksFor(t, store, 1, chat.Requester, "group:ops")
		defer w.stop()
		for i := range 150 {
			w.votes(fmt.Sprint("stranger", i, " ✅"))
		}
		w.votes("ada ✅")
		if said := look(2); !strings.Contains(said, ran) {
			t.Errorf("people saw:\n%s", said)
		}
		if g, a := book.groups.Load(), book.accounts.Load(); g > 2 || a != 1 {
			t.Errorf("%d look-ups of a group, %d of accounts", g, a)
		}
	})
}

// A denial by a member who has to be looked up is not overtaken by an approval that came
// after it, and strangers' denials hold the approval up for one look-up.
func TestNoApprovalOvertakesADenial(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]string{"cid": "denied deploy by cid", "eve": ran} {
		bubble(t, func(t *testing.T, store memory.Full) {
			w, _, look := asksFor(t, store, 1, chat.Requester, "group:ops")
			defer w.stop()
			for i := range 20 {
				w.votes(fmt.Sprint("stranger", i, " ❌"))
			}
			w.votes(by+" ❌", "ada ✅")
			if said := look(4); !strings.Contains(said, want) {
				t.Errorf("people saw:\n%s", said)
			}
		})
	}
}

// Somebody who puts a vote on and takes it off again holds up no quorum.
func TestTogglingHoldsUpNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, book, look := asksFor(t, store, 2, "group:ops")
		defer w.stop()
		for range 40 {
			w.votes("ben ✅", "ben ✅ off")
		}
		w.votes("ben ✅", "cid ✅")
		if said := look(8); !strings.Contains(said, ran) {
			t.Errorf("people saw:\n%s", said)
		}
		if n := book.groups.Load() + book.accounts.Load(); n > 12 {
			t.Errorf("%d look-ups", n)
		}
	})
}

// Everybody behind a full quorum is looked up again: an account that may not decide any
// more gives no approval, and the card and whoever voted last are told.
func TestAccountsAtTheQuorum(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		w, _, look := asksFor(t, store, 2, chat.Anyone)
		defer w.stop()
		w.votes("ben ✅")
		look(3)
		w.board.Bar("ben", "this account is gone")
		w.votes("cid ✅")
		said := look(5)
		for _, want := range []string{"deploy 1 of 2 approved: ben\n", "deploy 1 of 2 approved: cid\n", "tell cid ben's approval does not count any more: this account is gone."} {
			if !strings.Contains(said, want) || strings.Contains(said, ran) {
				t.Errorf("missing %q in:\n%s", want, said)
			}
		}
		w.votes("ben ✅ off", "ben ✅", "dan ✅")
		if said := look(5); !strings.Contains(said, "approved deploy by cid, dan") {
			t.Errorf("people saw:\n%s", said)
		}
	})
}
