package main

import (
	"slices"
	"strings"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// The word `waiting` lists what waits for whoever says it, with the way there:
// where others read it too that of the thread, and all of it in a direct
// conversation; nothing of a channel that they are not in.
func TestSlackWaiting(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	w.s.AddChannel(fakeslack.Channel{ID: "C0PRIV", Name: "priv", Kind: fakeslack.Private, Members: []string{"U0ADA", "U0BOB", fakeslack.BotUser}})
	n := newService(t, w, frail, setup{extra: `approvals: {approvers: [anyone]}`})
	n.start()
	open, secret := w.mention("ada", "deploy prod now"), w.in("C0PRIV", "deploy prod now")
	n.ask(open, `{"env":"prod"}`)
	n.ask(secret, `{"env":"prod"}`)
	eventually(t, "both wait", func() bool { return n.waits() == 2 })
	w.mentionIn("bob", open, "waiting")
	n.find(open, "One approval waits for you", "asked by", "/archives/C0GEN/p", "One more waits for you elsewhere")
	n.find(w.dm("bob", "waiting"), "2 approvals wait for you", "/archives/C0GEN/p", "/archives/C0PRIV/p")
	eve := n.find(w.dm("eve", "waiting"), "One approval waits for you", "/archives/C0GEN/p")
	if strings.Contains(eve.text, "C0PRIV") || strings.Contains(eve.text, "elsewhere") {
		t.Errorf("eve is told %q", eve.text)
	}
}

// The same on Discord, where the command tells its answer to one person alone.
func TestDiscordWaiting(t *testing.T) {
	t.Parallel()
	w := newDiscordWorld(t, fakediscord.Options{})
	priv := w.s.AddChannel(w.guild, "priv")
	ops := w.s.AddRole(w.guild, "ops", 0)
	w.s.SetRoles(w.guild, w.users["bob"], ops)
	const view = 1 << 10
	w.s.Overwrite(priv, w.guild, 0, view)
	w.s.Overwrite(priv, ops, view, 0)
	w.s.Overwrite(priv, w.s.BotRole(w.guild), view, 0)
	n := newService(t, w, frail, setup{extra: `approvals: {approvers: [anyone]}`})
	n.start()
	open := w.mention("ada", "deploy prod now")
	id := w.s.Say(w.users["bob"], priv, w.ping()+"deploy prod now")
	secret := place{priv, id, id}
	ask, hidden := n.ask(open, `{"env":"prod"}`), n.ask(secret, `{"env":"prod"}`)
	eventually(t, "both wait", func() bool { return n.waits() == 2 })
	link := func(at post) string {
		return "https://discord.com/channels/" + w.guild + "/" + at.thread + "/" + at.message
	}
	w.mentionIn("bob", open, "waiting")
	n.find(open, "One approval waits for you", "asked by", link(ask), "One more waits for you elsewhere")
	n.find(w.dm("bob", "waiting"), "2 approvals wait for you", link(ask), link(hidden))
	eve := n.find(w.dm("eve", "waiting"), "One approval waits for you", link(ask))
	if strings.Contains(eve.text, priv) || strings.Contains(eve.text, "elsewhere") {
		t.Errorf("eve is told %q", eve.text)
	}
	w.s.Slash(w.users["bob"], open.thread, "waiting", nil)
	eventually(t, "bob alone is told of both", func() bool {
		return slices.ContainsFunc(w.s.Ephemerals(w.users["bob"]), func(m fakediscord.Message) bool {
			return holds(m.Text(), []string{"2 approvals wait for you", link(ask), link(hidden)})
		})
	})
	if c := n.count(open, link(hidden)); c != 0 {
		t.Error("the others of the thread read it")
	}
}
