package main

import (
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// While the model takes long there is a sign of that, and a stop on it ends the
// turn at once, on both platforms.
func TestStopWhileThinking(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]world{
		"slack": newSlackWorld(t, fakeslack.Options{}), "discord": newDiscordWorld(t, fakediscord.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			n := newService(t, w, func(fakellm.Request) fakellm.Reply {
				<-release
				return fakellm.Reply{Text: "too late"}
			}, setup{})
			t.Cleanup(func() { close(release) })
			n.start()
			at := w.mention("ada", "think about it")
			w.react("ada", n.find(at, "Thinking").place, "🛑")
			n.find(at, "Stopped by")
			eventually(t, "the steps are folded", func() bool { return n.count(at, "Thinking") == 0 })
			if c := n.count(at); c != 2 {
				t.Errorf("%d messages, want the steps and the word: %q", c, w.posts(at))
			}
		})
	}
}
