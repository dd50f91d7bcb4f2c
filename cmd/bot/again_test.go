package main

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// deployed has a deployment made, and gives where, and the steps of it, once the turn
// is over.
func (n *service) deployed() (at place, steps post) {
	n.t.Helper()
	at = n.w.mention("ada", "deploy prod now")
	n.w.react("ada", n.ask(at, `{"env":"prod"}`).place, "✅")
	n.find(at, "The tool says: deployed prod")
	return at, n.find(at, "1 step ·", "deploy")
}

// anew waits until the call that was run again is approved, and the turn answered.
func (n *service) anew(at place) {
	n.t.Helper()
	n.w.react("bob", n.ask(at, `{"env":"staging"}`).place, "✅")
	n.find(at, "Try 2", "ran", "staging", "Answered anew.")
	if ran := n.ran(); !slices.Equal(ran, []string{"deployed prod", "deployed staging"}) {
		n.t.Errorf("ran %q", ran)
	}
}

// In the window with the steps bob edits a call of ada's turn and runs it again.
func TestSlackEditAndRunAgain(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, obedient, setup{})
	n.start()
	at, steps := n.deployed()
	var id string
	eventually(t, "the steps have the button, once the turn is over", func() bool {
		had := len(w.s.Views("U0BOB"))
		w.s.Click("U0BOB", fakeslack.Action{Channel: steps.channel, TS: steps.message, ActionID: "nod_steps"})
		eventually(t, "the steps open", func() bool { return len(w.s.Views("U0BOB")) > had })
		id = w.s.Views("U0BOB")[had].ID
		return strings.Contains(string(w.view(id).Raw), "nod_again")
	})
	w.s.Click("U0BOB", fakeslack.Action{View: id, ActionID: "nod_again"})
	eventually(t, "the form stands in their place", func() bool { return strings.Contains(string(w.view(id).Raw), "nod_again_form") })
	w.s.Fill("U0BOB", id, map[string]string{"Senv": "staging"})
	eventually(t, "it is closed", func() bool { return w.view(id).Closed })
	n.anew(at)
}

// Below the opened steps bob edits a call of ada's turn and runs it again.
func TestDiscordEditAndRunAgain(t *testing.T) {
	t.Parallel()
	w := newDiscordWorld(t, fakediscord.Options{})
	n := newService(t, w, obedient, setup{})
	n.start()
	at, steps := n.deployed()
	bob := w.users["bob"]
	var shown fakediscord.Message
	eventually(t, "the steps have the button, once the turn is over", func() bool {
		w.open("bob", steps)
		all := w.s.Ephemerals(bob)
		shown = all[len(all)-1]
		return len(shown.Buttons()) == 1
	})
	form := w.s.Click(bob, shown.ID, shown.Buttons()[0])
	eventually(t, "the form opens", func() bool { return w.asked(form).Modal.Title != "" })
	w.s.FillIn(form, map[string]string{"Senv": "staging"})
	n.anew(at)
}

// On the page ben does.
func TestWebEditAndRunAgain(t *testing.T) {
	t.Parallel()
	w := newWebWorld(t)
	n := newService(t, w, obedient, setup{})
	n.start()
	at, steps := n.deployed()
	call := ""
	eventually(t, "the form stands below the steps", func() bool {
		for _, c := range w.cards("bob", at) {
			for e := range c.Descendants() {
				switch {
				case has(e, "action", "/rerun"):
					return true
				case e.Data == "button" && has(e, "name", "call"):
					call = attribute(e, "value")
				}
			}
		}
		if call != "" {
			w.submitAnyway("/again", w.form("bob", "ref", steps.message, "call", call)) // not before the turn is over
		}
		return false
	})
	w.send("/rerun", w.form("bob", "ref", steps.message, "call", call, "field", "Senv", "Senv", "staging"))
	n.anew(at)
}

// submitAnyway sends a form that may be refused.
func (w *webWorld) submitAnyway(path string, form url.Values) {
	before := len(w.wrong)
	w.send(path, form)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = w.wrong[:before]
}

// asked is an interaction of somebody's.
func (w *discordWorld) asked(id string) fakediscord.Interaction {
	all := w.s.Interactions()
	return all[slices.IndexFunc(all, func(i fakediscord.Interaction) bool { return i.ID == id })]
}

// view is a view of bob's.
func (w *slackWorld) view(id string) fakeslack.View {
	views := w.s.Views("U0BOB")
	return views[slices.IndexFunc(views, func(v fakeslack.View) bool { return v.ID == id })]
}
