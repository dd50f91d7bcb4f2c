package main

import (
	"strings"
	"testing"

	"nod/internal/fakellm"
	"nod/internal/fakeslack"
)

// While the model thinks the thread's session says that the bot is at work, in a
// channel too; the stop button on it ends the turn at once, and whatever ends a
// turn ends that. While an approval waits, so does the session.
func TestSlackSession(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	release := make(chan struct{}, 10)
	n := newService(t, w, func(r fakellm.Request) fakellm.Reply {
		if !strings.Contains(r.Last().Text(), "deploy") {
			<-release
		}
		return frail(r)
	}, setup{})
	t.Cleanup(func() { close(release) })
	n.start()
	for who, at := range map[string]place{"U0ADA": w.mention("ada", "think about it"), "U0BOB": w.dm("bob", "think about it")} {
		is := func(want string) func() bool {
			return func() bool { return w.s.Session(at.channel, at.thread) == want }
		}
		eventually(t, "it says that it is at work", is("processing"))
		w.s.StopSession(who, at.channel, at.thread)
		n.find(at, "Stopped by")
		eventually(t, "it is at rest", is("active"))
	}
	at := w.mention("ada", "deploy prod now")
	ask := n.ask(at, `{"env":"prod"}`)
	eventually(t, "it says that it waits", func() bool { return w.s.Session(at.channel, at.thread) == "suspended" })
	w.react("ada", ask.place, "✅")
	release <- struct{}{}
	n.find(at, "The tool says")
	eventually(t, "all is at rest", func() bool { return w.s.Session(at.channel, at.thread) == "active" && len(w.s.Processing()) == 0 })
}

// An approval of an earlier process ends in the next one, and then the session no
// longer waits, even if little is left to do there.
func TestSlackSessionOfTheProcessBefore(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *slackWorld, at, ask place){
		"denied":  func(w *slackWorld, _, ask place) { w.react("ada", ask, "❌") },
		"stopped": func(w *slackWorld, at, _ place) { w.reply("ada", at, "stop") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSlackWorld(t, fakeslack.Options{})
			n := newService(t, w, frail, setup{})
			n.start()
			at := w.mention("ada", "deploy prod now")
			ask := n.ask(at, `{"env":"prod"}`)
			is := func(want string) func() bool {
				return func() bool { return w.s.Session(at.channel, at.thread) == want }
			}
			eventually(t, "it says that it waits", is("suspended"))
			n.stop()
			n.start()
			end(w, at, ask.place)
			eventually(t, "it is at rest", is("active"))
		})
	}
}
