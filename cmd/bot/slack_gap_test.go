package main

import (
	"strings"
	"testing"

	"nod/internal/fakeslack"
)

// Mentions during a downtime are answered afterwards, also in channels and threads that
// the bot does not know. Messages in a thread before its first mention are no
// questions, however often the bot looks.
func TestSlackCalledWhileDown(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		w := newSlackWorld(t, fakeslack.Options{})
		w.room("C0QUIET")
		root := w.s.Say("U0BOB", "C0GEN", "prod is down")
		n := newService(t, w, frail, setup{store: store})
		n.start()
		n.find(w.dm("ada", "hello"), "You said: hello")
		n.stop()
		w.s.Reply("U0ADA", "C0GEN", root, "I looked at the logs")
		inThread := place{"C0GEN", root, w.s.Reply("U0ADA", "C0GEN", root, fakeslack.Mention+" why?")}
		quiet, direct := w.in("C0QUIET", "anybody here?"), w.dm("bob", "and me?")
		w.s.GiveUp()
		for _, again := range []string{"still there?", "and now?"} {
			n.start()
			n.find(inThread, "You said:", "why?")
			n.find(quiet, "You said: anybody here?")
			n.find(direct, "You said: and me?")
			w.cut()
			n.find(w.mentionIn("ada", inThread, again), "You said:", again)
			n.stop()
			w.s.GiveUp()
		}
		answers := 0
		for _, p := range w.posts(inThread) {
			if strings.Contains(p.text, "You said") {
				answers++
			}
		}
		if answers != 3 || n.count(inThread, "I looked at the logs") > 0 {
			t.Errorf("%d answers, want one to each of three questions: %q", answers, w.posts(inThread))
		}
	})
}
