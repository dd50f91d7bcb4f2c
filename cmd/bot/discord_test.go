package main

import (
	"testing"

	"nod/internal/fakediscord"
)

// What holds on every platform holds on Discord.
func TestDiscordConversations(t *testing.T) {
	t.Parallel()
	play(t, func(t *testing.T) world { return newDiscordWorld(t, fakediscord.Options{}) })
}
