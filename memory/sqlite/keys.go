package sqlite

import (
	"crypto/sha256"

	"nod/chat"
)

// key names an event or a message of a channel: a digest of the channel, then the id.
// Ids of one channel lie together, mostly in order of arrival, so a transaction writes
// few pages.
func key(platform, channel, id string) []byte {
	sum := sha256.Sum256([]byte(platform + "\x00" + channel))
	return append(sum[:8:8], id...)
}

func refKey(ref chat.MessageRef) []byte { return key(ref.Platform, ref.Channel, ref.ID) }
