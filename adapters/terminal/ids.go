package terminal

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"nod/chat"
)

const (
	platform = "terminal"
	channel  = "local"
)

// Thread is the one conversation of a terminal. It is the same after a
// restart, so that the conversation goes on where it was left.
var Thread = chat.ThreadID{Platform: platform, Channel: channel, Root: "main"}

// me is the id of the person at the keyboard. A terminal has no accounts:
// whoever types is this person.
const me chat.UserID = "local"

// postRef names a post of the bot's. It depends on thread and key alone, so
// that a post that is tried again, by a later process even, gets the same
// reference; a terminal can't be asked what stands on it.
func postRef(thread chat.ThreadID, key string) chat.MessageRef {
	sum := sha256.Sum256([]byte(thread.String() + "\x00" + key))
	return chat.MessageRef{Platform: platform, Channel: channel, ID: "p-" + hex.EncodeToString(sum[:12])}
}

// messageRef names a line that the person typed.
func messageRef(id string) chat.MessageRef {
	return chat.MessageRef{Platform: platform, Channel: channel, ID: "m-" + id}
}

// eventID names the event of something that the person did. Nothing delivers
// it twice, but every event has an id.
func eventID(id string) string { return platform + "/" + id }

// newID gives an id that no other line has, in this process or another.
func newID() string { return rand.Text() }
