package main

import (
	"slices"
	"strings"
	"testing"

	"nod/internal/fakeslack"
)

// A program puts reactions in the approver's name, a thousand under `make long`, live and
// while the service is down. Where only a click approves, the call does not run, and then
// runs once for the click.
func TestSlackReactionsOfPrograms(t *testing.T) {
	t.Parallel()
	w := quickSlack(t)
	n := newService(t, w, frail, setup{extra: "approvals: {by: [button]}\n"})
	n.start()
	at := w.mention("ada", "deploy prod now")
	ask := n.ask(at, `{"env":"prod"}`)
	all := points(make([]string, 500))
	for i := range all {
		if i == len(all)/2 {
			n.stop()
		}
		for _, emoji := range []string{"✅", "👍"} {
			w.react("ada", ask.place, emoji)
			if i < len(all)-1 {
				w.unreact("ada", ask.place, emoji)
			}
		}
		if i < len(all)/2 && i%10 == 0 {
			eventually(t, "the service keeps pace", func() bool { return w.s.Unacked() == 0 })
		}
	}
	n.start()
	eventually(t, "the reactions that stood are judged", func() bool { return len(w.told("ada", at)) > 0 && w.s.Unacked() == 0 })
	if ran := n.ran(); len(ran) > 0 {
		t.Errorf("reactions ran %q", ran)
	}
	w.s.Click("U0ADA", fakeslack.Action{Channel: ask.channel, TS: ask.message, ActionID: "nod_approve"})
	n.find(at, "The tool says")
	if ran := n.ran(); !slices.Equal(ran, []string{"deployed prod"}) {
		t.Errorf("it ran %q", ran)
	}
	n.stop()
	_, log, _ := n.bot("audit", "--config", n.file)
	if !strings.Contains(log, "needs a click on Approve") { // one that was taken off before it was looked at left no trace
		t.Error("the audit log names no reaction that does not count")
	}
}
