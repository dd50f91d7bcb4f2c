package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"nod/chat"
)

// Platform is the name of this platform in ids.
const Platform = "web"

// nod is how the bot is called, and mentioned.
const nod = "nod"

// directPrefix begins the channel of somebody's direct conversation with the bot.
const directPrefix = "dm-"

// People are who one can be on the page.
var People = []chat.User{{ID: "ada", Name: "ada"}, {ID: "ben", Name: "ben"}, {ID: "cid", Name: "cid"}}

// person finds somebody by id.
func person(id string) (chat.User, bool) {
	return first(People, func(p chat.User) bool { return string(p.ID) == id })
}

// first gives the first of all that is meant; ok is false where none is.
func first[T any](all []T, meant func(T) bool) (found T, ok bool) {
	i := slices.IndexFunc(all, meant)
	if i < 0 {
		return found, false
	}
	return all[i], true
}

// threadID names a conversation: the message that began it, in its channel. A
// direct conversation is one, and has no root.
func threadID(channel, root string) chat.ThreadID {
	return chat.ThreadID{Platform: Platform, Channel: channel, Root: root}
}

// directOf is the direct conversation of a person with the bot.
func directOf(who chat.UserID) chat.ThreadID { return threadID(directPrefix+string(who), "") }

// isDirect says whether a channel is a direct conversation.
func isDirect(channel string) bool { return strings.HasPrefix(channel, directPrefix) }

// messageRef names what somebody wrote.
func messageRef(channel, id string) chat.MessageRef {
	return chat.MessageRef{Platform: Platform, Channel: channel, ID: id}
}

// postRef names a post of the bot's. It depends on thread and key alone, so that
// a post that is tried again, by a later process even, stands once.
func postRef(thread chat.ThreadID, key string) chat.MessageRef {
	sum := sha256.Sum256([]byte(thread.String() + "\x00" + key))
	return chat.MessageRef{Platform: thread.Platform, Channel: thread.Channel, ID: "p" + hex.EncodeToString(sum[:10])}
}

// cardID names the element that shows a message in a pane. A link to a message ends in it.
func cardID(pane string, ref chat.MessageRef) string { return pane + "-" + ref.ID }

// newID gives an id that nothing else has, in this process or another.
func newID() string { return strings.ToLower(rand.Text()) }

// cleanID takes the id that a form was given when it was made. A form that is
// sent twice has the same, and so counts once.
func cleanID(s string) (string, bool) { return s, idPattern.MatchString(s) }

var idPattern = regexp.MustCompile(`^[a-z0-9-]{8,64}$`)

// eventID names what a form did.
func eventID(kind, form string) string { return Platform + "/" + kind + "/" + form }
