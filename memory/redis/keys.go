package redis

import (
	"hash/fnv"
	"strconv"
	"sync/atomic"

	"nod/chat"
)

// keys names what a store keeps. Only the hash tag of a shard is made here:
// the scripts make every other key from it.
type keys struct{ prefix string }

// tag is the hash tag of a shard, in braces: the part of a key that decides
// its slot on a cluster.
func (k keys) tag(shard int) string { return "{" + k.prefix + ":" + strconv.Itoa(shard) + "}" }

func (k keys) key(shard int, kind, name string) string { return k.tag(shard) + ":" + kind + ":" + name }

func (k keys) audit(shard int) string { return k.tag(shard) + ":audit" }
func (k keys) due(shard int) string   { return k.tag(shard) + ":due" }

// mail is the channel on which a process hears of entries for the threads that
// it holds.
func (k keys) mail(id string) string { return k.prefix + ":mail:" + id }

// shardOf gives the shard of a channel. Whatever can be found from a message
// of the channel lies there: its threads, messages and event ids.
func shardOf(platform, channel string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(platform + "\x00" + channel)) // never fails
	return int(h.Sum32() % shards)
}

func shardOfThread(t chat.ThreadID) int { return shardOf(t.Platform, t.Channel) }

// counter numbers things.
type counter struct{ n atomic.Uint64 }

func (c *counter) next() string { return strconv.FormatUint(c.n.Add(1), 36) }
