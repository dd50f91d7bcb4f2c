package api

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nod/chat"
)

// Platform is the name of this platform in every id that is minted here.
const Platform = "slack"

// place is where messages stand: a workspace and a channel of it. Its form in
// a [chat.ThreadID] and a [chat.MessageRef] is team:channel.
func place(team, channel string) string { return team + ":" + channel }

// ChannelOf is the id that Slack knows the channel of a place by.
func ChannelOf(place string) string {
	_, channel, ok := strings.Cut(place, ":")
	if !ok {
		return place
	}
	return channel
}

// ThreadID names a thread by the timestamp of its first message; a DM that is
// one conversation has no root.
func ThreadID(team, channel, root string) chat.ThreadID {
	return chat.ThreadID{Platform: Platform, Channel: place(team, channel), Root: root}
}

// RefOf names a message by its timestamp, which is unique in its channel.
func RefOf(team, channel, ts string) chat.MessageRef {
	return chat.MessageRef{Platform: Platform, Channel: place(team, channel), ID: ts}
}

// InThread names a message of a thread.
func InThread(t chat.ThreadID, ts string) chat.MessageRef {
	return chat.MessageRef{Platform: Platform, Channel: t.Channel, ID: ts}
}

// IsDM says whether an id is that of a direct conversation with one person.
func IsDM(channel string) bool { return strings.HasPrefix(channel, "D") }

// Event ids: whatever shares one of them is the same thing. A mention arrives
// as two events that share the message's timestamp, and a message has been
// seen twice under two timestamps that share the sender's own id.
func withEvent(id, key string) []string {
	if id == "" {
		return []string{key}
	}
	return []string{key, "slack:ev:" + id}
}

// MessageKey is the id of the event of a message.
func MessageKey(channel, ts string) string { return "slack:msg:" + channel + ":" + ts }

// MessageKeys lists the ids under which a message may come again.
func MessageKeys(eventID string, ev Event) []string {
	keys := withEvent(eventID, MessageKey(ev.Channel, ev.TS))
	if ev.ClientMsgID != "" {
		keys = append(keys, "slack:cmid:"+ev.ClientMsgID)
	}
	return keys
}

// ChangeKeys lists the ids of something that happened to a message. The time
// of the event tells a reaction from the same one put on again later.
func ChangeKeys(eventID, what, channel, ts, when string) []string {
	return withEvent(eventID, strings.Join([]string{"slack", what, channel, ts, when}, ":"))
}

// SentAt reads a timestamp: seconds and microseconds. What is none gives the
// zero time.
func SentAt(ts string) time.Time {
	sec, frac, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(sec, 10, 64)
	if err != nil || s < 0 || len(frac) > 6 {
		return time.Time{}
	}
	us := int64(0)
	if frac != "" {
		if us, err = strconv.ParseInt((frac + "00000")[:6], 10, 64); err != nil || us < 0 {
			return time.Time{}
		}
	}
	return time.Unix(s, us*1000).UTC()
}

// Stamp writes a time as a timestamp, to compare messages with.
func Stamp(t time.Time) string {
	return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000)
}
