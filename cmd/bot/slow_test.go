package main

import (
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// A model that takes long leaves no message, and a stop on the question ends the
// turn at once, on both platforms.
func TestStopWhileThinking(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]world{
		"slack": newSlackWorld(t, fakeslack.Options{}), "discord": newDiscordWorld(t, fakediscord.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, release := make(chan struct{}, 9), make(chan struct{})
			n := newService(t, w, func(fakellm.Request) fakellm.Reply {
				asked <- struct{}{}
				<-release
				return fakellm.Reply{Text: "too late"}
			}, setup{})
			t.Cleanup(func() { close(release) })
			n.start()
			at := w.mention("ada", "think about it")
			<-asked
			w.react("ada", at, "🛑")
			n.find(at, "Stopped by")
			if c := n.count(at); c != 1 {
				t.Errorf("%d messages, want the word alone: %q", c, w.posts(at))
			}
		})
	}
}
