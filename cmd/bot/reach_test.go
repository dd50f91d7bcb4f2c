package main

import (
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// opsOf is a channel in which nobody talks to the bot, as the file names it.
func opsOf(w world) place {
	if d, ok := w.(*discordWorld); ok {
		return place{d.ops, d.ops, ""}
	}
	return place{"C0OPS", "", ""}
}

// An approval stands in a channel too, and is decided there or in the thread: once,
// and every card says what came of it.
func TestApprovalInAChannel(t *testing.T) {
	for platform, newWorld := range map[string]func(t *testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) },
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, store string) {
				w := newWorld(t)
				ops := opsOf(w)
				extra := `approvals: {approvers: [requester, "` + w.approver("bob") + `"], notify: [mention, "channel:` + ops.channel + `"]}`
				n := newService(t, w, frail, setup{store: store, extra: extra})
				n.start()

				at := w.mention("ada", "deploy prod now")
				n.ask(at, `{"env":"prod"}`)
				w.react("eve", n.ask(ops, `{"env":"prod"}`).place, "✅")
				w.react("bob", n.ask(ops, `{"env":"prod"}`).place, "✅")
				n.find(at, "The tool says: deployed prod")
				n.find(ops, "Approved by bob · done in")
				n.find(at, "Approved by bob · done in")

				at = w.mention("ada", "deploy staging now")
				n.ask(ops, `{"env":"staging"}`)
				w.react("ada", n.ask(at, `{"env":"staging"}`).place, "❌")
				n.find(ops, "Denied by ada", `{"env":"staging"}`)
				if ran := n.ran(); len(ran) != 1 {
					t.Errorf("ran %q", ran)
				}
				if c := n.count(ops, `{"env":`); c != 2 {
					t.Errorf("%d messages in the channel, want two cards", c)
				}
			})
		})
	}
}
