package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/policy"
	"nod/agent/run"
	"nod/chat"
	"nod/internal/script"
	"nod/memory"
)

// house is a platform of which it is known who sees what: its direct conversation is
// read by one person alone, the secret channel is seen by nobody.
type house struct{ *script.Board }

// Able implements run.Platform.
func (house) Able() chat.Able { return chat.Able{Sees: true} }

// Visit implements run.Platform.
func (h house) Visit(_ context.Context, _ chat.ThreadID, who chat.User) (chat.Visit, error) {
	return chat.Visit{
		Who: who, Sees: func(t chat.ThreadID) bool { return t.Channel != "secret" },
		Link: func(_ chat.ThreadID, ref chat.MessageRef) string { return "https://house.example/" + ref.Channel },
	}, nil
}

// Post implements run.Drawer.
func (h house) Post(ctx context.Context, thread chat.ThreadID, p chat.Post, look bool) (chat.MessageRef, error) {
	if thread.Channel == "dm" {
		p = p.Confided()
	}
	return h.Board.Post(ctx, thread, p, look)
}

// Waiting approvals of other conversations are listed with a link if nobody else reads
// the list, and otherwise counted. Conversations that the person can't see are neither
// listed nor counted.
func TestWaitingElsewhere(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		act := tool("act", false)
		act.Risk = policy.Ask
		w := newWorld(t, store, nil, act)
		w.runner.Lobby = w.inbox
		w.runner.Platforms["board"] = house{w.board}
		w.start()
		in := func(channel, text string) {
			t.Helper()
			w.thread = chat.ThreadID{Platform: "board", Channel: channel, Root: "1"}
			if err := w.say(text); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for _, channel := range []string{"a", "b", "secret"} {
			w.model.Add("call act {}")
			in(channel, "act in "+channel)
		}
		w.board.Lines()
		in("a", "waiting")
		wantLines(t, w.board, "notice One approval waits for you:\n\n- Approval 1: `act`, asked by ada, 30 min 0 s left: [open](https://house.example/a)\n\n"+
			"One more waits for you elsewhere. Ask me where nobody else reads it.")
		in("dm", "Waiting")
		wantLines(t, w.board, "notice 2 approvals wait for you:\n\n- Approval 1: `act`, asked by ada, 30 min 0 s left: [open](https://house.example/a)\n"+
			"- Approval 1: `act`, asked by ada, 30 min 0 s left: [open](https://house.example/b)")
		w.stop()
	})
}

// Of more approvals than a look reads, the most urgent ones are listed, and the others
// are counted. An approval in a thread that the person does not see is neither.
func TestWaitingIsSortedByDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store memory.Full) {
		const all = 300
		for i := range all {
			thread, id := onBoard(i), fmt.Sprint("m", i)
			r := claimed(t, store, thread, memory.Message{Message: chat.Message{
				Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: id}, From: chat.User{ID: "ada"},
			}})
			rules, left := script.Rules(), time.Hour+time.Duration(all-i)*time.Minute // the last one is the most urgent
			rules.Timeout, rules.Approvers = left, []string{"user:eve"}
			if i == all-1 {
				rules.Approvers = []string{"user:bob"}
			}
			_, err := store.Finish(t.Context(), r, time.Now().Add(left),
				memory.Opened{Turn: 1, Requester: chat.User{ID: "ada"}},
				memory.Step{Turn: 1, N: 1, Calls: []memory.Call{{ID: "1", Tool: "t", Args: "{}", Object: true}}},
				memory.Asked{Call: "1", Tool: "t", Number: 1, Requester: chat.User{ID: "ada"}, Rules: rules},
				memory.Posted{Key: memory.PostKey(memory.AskName("1"), "x"), Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: "card" + id}})
			if err != nil {
				t.Fatal(err)
			}
		}
		visit := chat.Visit{
			Who: chat.User{ID: "bob"}, Sees: func(thread chat.ThreadID) bool { return thread != onBoard(0) },
			Member: func(context.Context, chat.ThreadID, string) (bool, error) { return false, nil },
		}
		for range 5 {
			h, err := run.Inbox{Store: store}.Waiting(t.Context(), "board", visit)
			if err != nil {
				t.Fatal(err)
			}
			if len(h.Waiting) != 1 || h.Waiting[0].Thread != onBoard(all-1) {
				t.Fatalf("%v wait for bob, want the most urgent one", h.Waiting)
			}
			if h.Unread != all-1-200 || !strings.Contains(h.Rest(), "99 approvals with later deadlines") {
				t.Errorf("%d were not looked into: %q", h.Unread, h.Rest())
			}
		}
	})
}
