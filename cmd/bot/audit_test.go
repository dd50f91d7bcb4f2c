package main

import (
	"testing"

	discordapi "nod/adapters/discord/api"
	slackapi "nod/adapters/slack/api"
	"nod/chat"
)

// The audit log hides the names of direct conversations on both platforms, and of no
// channel.
func TestDirectConversations(t *testing.T) {
	t.Parallel()
	for thread, want := range map[chat.ThreadID]bool{
		slackapi.ThreadID("T1", "D1", ""):                                true,
		slackapi.ThreadID("T1", "D1", "1.2"):                             true,
		slackapi.ThreadID("T1", "C1", "1.2"):                             false,
		slackapi.ThreadID("T1", "G1", "1.2"):                             false,
		discordapi.ThreadID(discordapi.Place{Channel: "1"}):              true,
		discordapi.ThreadID(discordapi.Place{Channel: "1", Thread: "2"}): false,
		{Platform: "terminal", Channel: "D1"}:                            false,
	} {
		if direct(thread) != want {
			t.Errorf("direct(%v) = %v, want %v", thread, !want, want)
		}
	}
}
