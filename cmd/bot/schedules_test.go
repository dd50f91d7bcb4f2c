package main

import (
	"testing"

	"nod/internal/fakediscord"
	"nod/internal/fakeslack"
)

// Schedules are words on both platforms, in the zone of who says them where the platform
// tells it; on Discord two are commands, too.
func TestSchedules(t *testing.T) {
	t.Parallel()
	words := func(t *testing.T, n *service, zone string, said func(text string) place, again func(in place, text string)) {
		n.start()
		in := said("every weekday 09:00: what is new?")
		n.find(in, "Schedule 1: every weekday 09:00 ("+zone+"), next ", "what is new?")
		again(in, "remind in 1d: call the bank")
		n.find(in, "Schedule 2: once ("+zone+"), next ", "call the bank")
		again(in, "every 5s: x")
		n.find(in, "not scheduled: the shortest is every 15m")
		again(in, "unschedule 1")
		n.find(in, "Schedule 1 has ended.")
		again(in, "schedules")
		n.find(in, "- Schedule 2: once")
	}
	t.Run("slack", func(t *testing.T) {
		t.Parallel()
		w := newSlackWorld(t, fakeslack.Options{})
		n := newService(t, w, frail, setup{extra: `schedules: {thread: 8}`})
		words(t, n, "Europe/Berlin", func(text string) place { return w.mention("ada", text) }, func(in place, text string) { w.mentionIn("ada", in, text) })
	})
	t.Run("discord", func(t *testing.T) {
		t.Parallel()
		w := newDiscordWorld(t, fakediscord.Options{})
		n := newService(t, w, frail, setup{extra: `schedules: {thread: 8}`})
		words(t, n, "UTC", func(text string) place { return w.mention("ada", text) }, func(in place, text string) { w.mentionIn("ada", in, text) })
	})
}
