package redis

import (
	"crypto/rand"
	"encoding/base32"
	"hash/fnv"
	"strconv"
	"strings"
	"sync/atomic"

	"nod/chat"
)

// keys names a store's keys. Go makes only the hash tag of a shard; the scripts make
// every other key from it.
type keys struct{ prefix string }

// tag is the hash tag of a shard, in braces. It decides the slot on a cluster.
func (k keys) tag(shard int) string { return "{" + k.prefix + ":" + strconv.Itoa(shard) + "}" }

func (k keys) key(shard int, kind, name string) string { return k.tag(shard) + ":" + kind + ":" + name }

// own is a key that exists once in a shard.
func (k keys) own(shard int, kind string) string { return k.tag(shard) + ":" + kind }

// mail is the channel on which a process hears of entries for its held threads.
func (k keys) mail(id string) string { return k.prefix + ":mail:" + id }

// shardOf gives the shard of a channel. It holds everything that a message of the
// channel leads to: threads, messages and event ids.
func shardOf(platform, channel string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(platform + "\x00" + channel)) // never fails
	return int(h.Sum32() % shards)
}

func shardOfThread(t chat.ThreadID) int { return shardOf(t.Platform, t.Channel) }

// words makes the names of processes, claims, commits and calls. No name comes twice,
// even if a server forgets: each begins with a random word of the process and goes on
// with a number.
type words struct {
	self string
	n    atomic.Uint64
}

func newWords() *words {
	random := make([]byte, 10) // 16 letters
	_, _ = rand.Read(random)   // never fails
	return &words{self: strings.ToLower(base32.StdEncoding.EncodeToString(random))}
}

func (w *words) next() string { return w.self + strconv.FormatUint(w.n.Add(1), 36) }
