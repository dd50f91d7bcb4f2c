package main

import (
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// The starter of a thread has called the bot once somebody has; others who write there
// have not.
func TestSlackStarterOfTheThread(t *testing.T) {
	t.Parallel()
	w := newSlackWorld(t, fakeslack.Options{})
	n := newService(t, w, frail, setup{})
	n.start()
	root := w.s.Say("U0BOB", "C0GEN", "the api is slow today")
	n.hearsTheStarter(place{"C0GEN", root, root})
}

func TestDiscordStarterOfTheThread(t *testing.T) {
	t.Parallel()
	w := newDiscordWorld(t, fakediscord.Options{Privileged: fakediscord.IntentMessageContent})
	n := newService(t, w, frail, setup{})
	n.start()
	forum := w.s.AddForum(w.guild, "questions")
	post := w.s.Publish(w.users["bob"], forum, "slow", "the api is slow today")
	n.hearsTheStarter(place{post, post, post})
	thread := w.s.OpenThread(w.users["bob"], w.channel, "", "another one")
	n.hearsTheStarter(place{thread, thread, thread})
}

// hearsTheStarter plays it in a thread that bob started.
func (n *service) hearsTheStarter(at place) {
	n.t.Helper()
	w := n.w
	w.reply("bob", at, "nobody asked anything yet")
	n.find(w.mentionIn("ada", at, "and why is it slow"), "and why is it slow")
	w.reply("eve", at, "what eve says to them")
	w.reply("bob", at, "since noon, I mean")
	n.find(at, "You said:", "since noon, I mean")
	if c := n.count(at, "You said: what eve says") + n.count(at, "You said: nobody asked"); c != 0 {
		n.t.Errorf("%d answers to what was said to others", c)
	}
}
