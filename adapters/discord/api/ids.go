package api

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nod/chat"
)

// Platform is the name of this platform in every id that is minted here.
const Platform = "discord"

// Place is where a conversation lives. In a guild that is a thread, named by
// its parent channel and its own id; since a thread that is made from a message
// has the message's id, the place is known before the thread exists. Where no
// thread may be made, the conversation is the chain of replies to that message
// in the channel, under the same name. A direct conversation has a channel only.
//
// Its form in a [chat.ThreadID] and a [chat.MessageRef] is channel:thread, so
// that the message that began a thread shares the Channel of what is in it.
type Place struct{ Channel, Thread string }

// Direct says whether the place is a direct conversation.
func (p Place) Direct() bool { return p.Thread == "" }

func (p Place) String() string {
	if p.Direct() {
		return p.Channel
	}
	return p.Channel + ":" + p.Thread
}

// ReadPlace is the inverse of [Place.String].
func ReadPlace(s string) Place {
	channel, thread, _ := strings.Cut(s, ":")
	return Place{channel, thread}
}

// ThreadID names the conversation in a place.
func ThreadID(p Place) chat.ThreadID {
	return chat.ThreadID{Platform: Platform, Channel: p.String()}
}

// PlaceOf is the inverse of [ThreadID].
func PlaceOf(t chat.ThreadID) Place { return ReadPlace(t.Channel) }

// RefOf names a message in a place.
func RefOf(p Place, id string) chat.MessageRef {
	return chat.MessageRef{Platform: Platform, Channel: p.String(), ID: id}
}

// MessageKey is the id of the event of a message. Events with the same id are the same.
func MessageKey(id string) string { return "discord:msg:" + id }

// InteractionKey is the id of the event of an interaction.
func InteractionKey(id string) string { return "discord:int:" + id }

// GoneKey is the id of the event of a deletion.
func GoneKey(id string) string { return "discord:gone:" + id }

// EditKey names one edit of a message by the time that Discord gives it.
func EditKey(id, edited string) string { return "discord:edit:" + id + ":" + edited }

// epoch is where snowflakes begin to count milliseconds
// (https://discord.com/developers/docs/reference#snowflakes).
const epoch = 1420070400000

// Snowflake reads an id; 0 is none.
func Snowflake(id string) int64 {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// SentAt is when Discord made what has this id; zero for what is no id.
func SentAt(id string) time.Time {
	n := Snowflake(id)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n>>22 + epoch).UTC()
}

// IDAt is an id below all that are made at that time or later.
func IDAt(t time.Time) string {
	return strconv.FormatInt(max(0, t.UnixMilli()-epoch)<<22, 10)
}

// Nonce is the same for every attempt at the same part of the same post. It
// has 25 characters, the most that Discord takes.
func Nonce(thread chat.ThreadID, key string, part, again int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{thread.String(), key, strconv.Itoa(part), strconv.Itoa(again)}, "\x00")))
	return base32.StdEncoding.EncodeToString(sum[:])[:25]
}

// ApplicationID reads the id that a token begins with; "" where there is none.
func ApplicationID(token string) string {
	first, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(first, "="))
	if err != nil || !PlainID.Match(raw) {
		return ""
	}
	return string(raw)
}

// PlainID matches an id of Discord.
var PlainID = regexp.MustCompile(`^\d{1,20}$`)
