package main

import (
	"testing"
	"time"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// A card can be answered by a word as soon as it is to be seen, while the platform still
// has the bot wait with its emoji.
func TestSlackWordRightAfterTheCard(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	w.s.Fail(fakeslack.Fault{Method: "reactions.add", RetryAfter: time.Second})
	answersAtOnce(t, w)
}

func TestDiscordWordRightAfterTheCard(t *testing.T) {
	t.Parallel()
	w := newDiscordWorld(t, fakediscord.Options{})
	w.s.Inject(fakediscord.Fault{Route: "PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me", Status: 429, RetryAfter: time.Second})
	answersAtOnce(t, w)
}

func answersAtOnce(t *testing.T, w world) {
	n := newService(t, w, frail, setup{})
	n.start()
	at := w.mention("ada", "deploy prod now")
	n.ask(at, `{"env":"prod"}`)
	w.mentionIn("ada", at, "y")
	n.find(at, "pproved by")
	eventually(t, "it runs", func() bool { return len(n.ran()) == 1 })
}
