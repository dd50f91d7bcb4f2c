package discord

import (
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"time"

	"nod/chat"
)

// Platform is the name of this platform in every id that is minted here.
const Platform = "discord"

// place is where a conversation lives. In a guild that is a thread, named by
// its parent channel and its own id; since a thread that is made from a message
// has the message's id, the place is known before the thread exists. Where no
// thread may be made, the conversation is the chain of replies to that message
// in the channel, under the same name. A direct conversation has a channel only.
//
// Its form in a [chat.ThreadID] and a [chat.MessageRef] is channel:thread, so
// that the message that began a thread shares the Channel of what is in it.
type place struct{ channel, thread string }

func (p place) direct() bool { return p.thread == "" }

func (p place) String() string {
	if p.direct() {
		return p.channel
	}
	return p.channel + ":" + p.thread
}

func readPlace(s string) place {
	channel, thread, _ := strings.Cut(s, ":")
	return place{channel, thread}
}

func threadID(p place) chat.ThreadID {
	return chat.ThreadID{Platform: Platform, Channel: p.String()}
}

func placeOf(t chat.ThreadID) place { return readPlace(t.Channel) }

func refOf(p place, id string) chat.MessageRef {
	return chat.MessageRef{Platform: Platform, Channel: p.String(), ID: id}
}

// Event ids: whatever has the same one is the same thing.
func messageKey(id string) string     { return "discord:msg:" + id }
func interactionKey(id string) string { return "discord:int:" + id }
func goneKey(id string) string        { return "discord:gone:" + id }

// editKey names one edit of a message by the time that Discord gives it.
func editKey(id, edited string) string { return "discord:edit:" + id + ":" + edited }

// epoch is where snowflakes begin to count milliseconds
// (https://discord.com/developers/docs/reference#snowflakes).
const epoch = 1420070400000

// snowflake reads an id; 0 is none.
func snowflake(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// sentAt is when Discord made what has this id; zero for what is no id.
func sentAt(id string) time.Time {
	n := snowflake(id)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n>>22 + epoch).UTC()
}

// Stood is when a message was sent.
func (a *Adapter) Stood(ref chat.MessageRef) time.Time { return sentAt(ref.ID) }

// idAt is an id below all that are made at that time or later.
func idAt(t time.Time) string {
	return strconv.FormatInt(max(0, t.UnixMilli()-epoch)<<22, 10)
}

// nonce is the same for every attempt at the same part of the same post. It
// has 25 characters, the most that Discord takes.
func nonce(thread chat.ThreadID, key string, part, again int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{thread.String(), key, strconv.Itoa(part), strconv.Itoa(again)}, "\x00")))
	return base32.StdEncoding.EncodeToString(sum[:])[:25]
}
