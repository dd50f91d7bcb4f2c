package main

import (
	"slices"
	"strings"
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// opsOf is a channel in which nobody talks to the bot, as the file names it.
func opsOf(w world) place {
	if d, ok := w.(*discordWorld); ok {
		return place{d.ops, d.ops, ""}
	}
	return place{"C0OPS", "", ""}
}

// An approval stands in a channel too, and is decided there or in the thread: once,
// and every card says what came of it.
func TestApprovalInAChannel(t *testing.T) {
	t.Parallel()
	for platform, newWorld := range map[string]func(t *testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) },
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, store string) {
				w := newWorld(t)
				ops := opsOf(w)
				extra := `approvals: {approvers: [requester, "` + w.approver("bob") + `"], notify: [mention, "channel:` + ops.channel + `"]}`
				n := newService(t, w, frail, setup{store: store, extra: extra})
				n.start()

				at := w.mention("ada", "deploy prod now")
				n.ask(at, `{"env":"prod"}`)
				card := n.ask(ops, `{"env":"prod"}`).place
				eventually(t, "the card is known", func() bool { return len(w.reactions(card)) == 2 })
				w.react("eve", card, "✅")
				w.react("bob", card, "✅")
				n.find(at, "The tool says: deployed prod")
				n.find(ops, "Approved by bob · done in")
				n.find(at, "Approved by bob · done in")

				at = w.mention("ada", "deploy staging now")
				n.ask(ops, `{"env":"staging"}`)
				w.react("ada", n.ask(at, `{"env":"staging"}`).place, "❌")
				n.find(ops, "Denied by ada", `{"env":"staging"}`)
				if ran := n.ran(); len(ran) != 1 {
					t.Errorf("ran %q", ran)
				}
				if c := n.count(ops, `{"env":`); c != 2 {
					t.Errorf("%d messages in the channel, want two cards", c)
				}
			})
		})
	}
}

// dmOf is the direct conversation between the bot and somebody.
func dmOf(w world, user string) place {
	switch w := w.(type) {
	case *discordWorld:
		ch := w.s.DM(w.users[user])
		return place{ch, ch, ""}
	case *webWorld:
		return place{channel: "dm-" + w.users[user]}
	}
	s := w.(*slackWorld)
	return place{s.s.DM(s.users[user]), "", ""}
}

// shut has somebody take no direct messages, and gives the word for it; "" where there
// is no such thing.
func shut(w world, user string) string {
	switch w := w.(type) {
	case *discordWorld:
		w.s.CloseDMs(w.users[user], true)
		return "Discord refused my answer (50007: cannot send messages to this user)"
	case *webWorld:
		return ""
	}
	s := w.(*slackWorld)
	s.s.Fail(fakeslack.Fault{
		Method: "conversations.open", Error: "user_disabled", Times: -1,
		Match: func(a fakeslack.Args) bool { return a["users"] == s.users[user] },
	})
	return "Slack refused my answer (user_disabled)"
}

// Approvers get the card directly, with the call and nothing else of the conversation.
// They decide there or in the thread, also after a restart. The thread names people who
// can't be written to.
func TestApprovalByDirectMessage(t *testing.T) {
	t.Parallel()
	for platform, newWorld := range map[string]func(t *testing.T) world{
		"slack":   func(t *testing.T) world { return newSlackWorld(t, fakeslack.Options{}) },
		"discord": func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) },
		"page":    func(t *testing.T) world { return newWebWorld(t) },
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, store string) {
				w := newWorld(t)
				word, bob := shut(w, "eve"), dmOf(w, "bob")
				extra := `approvals: {approvers: [requester, "` + w.approver("bob") + `", "` + w.approver("eve") + `"], notify: [dm]}`
				n := newService(t, w, frail, setup{store: store, extra: extra})
				n.start()

				at := w.mention("ada", "deploy prod now")
				n.ask(at, `{"env":"prod"}`)
				if word != "" {
					n.find(at, "I could not write to eve directly", word)
				}
				n.ask(bob, `{"env":"prod"}`)
				n.ask(dmOf(w, "ada"), `{"env":"prod"}`)
				n.stop()
				n.start()
				w.react("bob", n.ask(bob, `{"env":"prod"}`).place, "✅")
				n.find(at, "The tool says: deployed prod")
				for _, card := range []place{at, bob, dmOf(w, "ada")} {
					n.find(card, "Approved by "+named(w, "bob")+" · done in")
				}

				at = w.mention("ada", "deploy staging now")
				n.ask(bob, `{"env":"staging"}`)
				w.react("eve", n.ask(at, `{"env":"staging"}`).place, "❌")
				n.find(bob, "Denied by "+named(w, "eve"), `{"env":"staging"}`)
				cards := 2
				if platform == "slack" { // which tells nothing of what came meanwhile: of what is found in two places the denial wins
					at = w.mention("ada", "deploy prod now, once more")
					inThread, direct := n.ask(at, `{"env":"prod"}`).place, n.find(bob, "Approval 1: deploy").place
					n.stop()
					w.react("eve", inThread, "✅")
					w.react("bob", direct, "❌")
					w.(*slackWorld).s.GiveUp()
					n.start()
					n.find(at, "Denied by "+named(w, "bob"))
					cards++
				}
				if ran := n.ran(); len(ran) != 1 {
					t.Errorf("ran %q", ran)
				}
				if all := w.posts(bob); len(all) != cards || slices.ContainsFunc(all, func(p post) bool { return strings.Contains(p.text, " now") }) {
					t.Errorf("bob was told %q, want %d cards and nothing else", all, cards)
				}
			})
		})
	}
}

// named is what somebody is called there.
func named(w world, who string) string {
	if page, ok := w.(*webWorld); ok {
		return page.users[who]
	}
	return who
}
