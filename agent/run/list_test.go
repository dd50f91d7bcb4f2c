package run_test

import (
	"context"
	"testing"
	"testing/synctest"

	"nod/agent/policy"
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
