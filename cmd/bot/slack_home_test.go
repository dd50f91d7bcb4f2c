package main

import (
	"strings"
	"testing"

	"nod/internal/fakeslack"
)

// The Home tab shows each person what waits for them and nothing of what they do
// not see, what of today's limits they used, the facts of their direct conversation, and
// the tools; an approval that was given is gone from it.
func TestSlackHome(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		w := newSlackWorld(t, fakeslack.Options{})
		w.s.AddChannel(fakeslack.Channel{ID: "C0PRIV", Name: "priv", Kind: fakeslack.Private, Members: []string{"U0ADA", "U0BOB", fakeslack.BotUser}})
		n := newService(t, w, frail, setup{
			store: store, extra: "facts: {most: 5}\nlimits: {per_person_per_day: 5000}\napprovals: {approvers: [requester, \"user:U0EVE\", \"group:S012\"]}",
		})
		n.start()
		home := func(user string) string {
			w.s.OpenHome(w.users[user], "home")
			for _, v := range w.s.Views(w.users[user]) {
				if v.Type == "home" {
					return texts(v.Raw)
				}
			}
			return ""
		}
		sees := func(user string, asks ...string) {
			t.Helper()
			eventually(t, user+" sees what waits for them", func() bool {
				got := home(user)
				for _, a := range asks {
					if !strings.Contains(got, a) {
						return false
					}
				}
				return strings.Count(got, "*Approval ") == len(asks) && strings.Contains(got, "asks for approval: requester, user:U0EVE, group:S012")
			})
		}
		open := n.ask(w.mention("ada", "deploy prod now"), `{"env":"prod"}`)
		secret := n.ask(w.in("C0PRIV", "deploy prod now"), `{"env":"prod"}`)
		sees("ada", "in <#C0GEN> · asked by <@U0ADA>", "in <#C0PRIV>")
		sees("bob", "in <#C0GEN>", "in <#C0PRIV>") // of the group
		sees("eve", "in <#C0GEN>")                 // and not in the channel
		if got := home("ada"); !strings.Contains(got, " of 5000 tokens used of what one person may use in a day") || strings.Contains(got, "prod") {
			t.Errorf("ada sees %s", got)
		}
		w.s.Say(w.users["ada"], w.s.DM(w.users["ada"]), "remember: ada likes tea")
		eventually(t, "ada sees her fact", func() bool { return strings.Contains(home("ada"), "ada likes tea") })
		if got := home("bob"); strings.Contains(got, "tea") {
			t.Errorf("bob sees %s", got)
		}
		w.react("bob", open.place, "✅")
		n.find(open.place, "Approved by bob")
		sees("eve")
		sees("ada", "in <#C0PRIV>")
		w.react("ada", secret.place, "❌")
		n.find(secret.place, "Denied by ada")
		sees("bob")
	})
}
