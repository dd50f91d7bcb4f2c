package main

import (
	"slices"
	"testing"

	"nod/internal/fakeslack"
)

// A vote counts that Slack could not tell of, and that stood on a card before the store
// knew the card: the look after the gap finds it, or the post of the card does.
func TestSlackVoteInGapWhilePosting(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{NoLimits: true})
	n := newService(t, w, frail, setup{})
	n.start()
	hold := make(chan struct{})
	posting := w.s.Fail(fakeslack.Fault{Method: "reactions.add", Match: func(a fakeslack.Args) bool { return a["name"] == "x" }, Hold: hold})
	ask := n.ask(w.mention("ada", "deploy prod now"), `{"env":"prod"}`)
	eventually(t, "the card stands, and its post goes on", func() bool { return posting.Hits() > 0 })
	w.s.RefuseSockets(1_000_000)
	w.cut()
	eventually(t, "nobody listens", func() bool { return w.s.Sockets() == 0 })
	w.react("ada", ask.place, "✅")
	w.s.GiveUp()
	looks := len(w.s.Calls("users.conversations"))
	w.s.RefuseSockets(0)
	eventually(t, "it looks for what it missed", func() bool { return len(w.s.Calls("users.conversations")) > looks })
	close(hold)
	n.find(ask.place, "The tool says")
	if ran := n.ran(); !slices.Equal(ran, []string{`deployed prod`}) {
		t.Errorf("it ran %q", ran)
	}
}
