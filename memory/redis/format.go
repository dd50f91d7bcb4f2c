package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// format is the number in each shard. It changes with the meaning of a key or an entry.
const format = 5

// formatOf reads a shard's format; 0: the shard is empty.
func (l *link) formatOf(ctx context.Context, shard int) (have int, err error) {
	err = l.retry(ctx, shard, briefly, func() (err error) {
		have, err = l.cmd.Get(ctx, l.keys.own(shard, "format")).Int()
		if !errors.Is(err, redis.Nil) {
			return err
		}
		// The first format had no number.
		used, err := l.cmd.Exists(ctx, l.keys.own(shard, "due"), l.keys.own(shard, "audit"),
			l.keys.key(shard, "seen", "slack"), l.keys.key(shard, "seen", "discord")).Result()
		have = int(min(used, 1))
		return err
	})
	return have, memory.Doing("read format", err)
}

// checkFormats refuses a store with a shard of another format.
func (l *link) checkFormats(ctx context.Context) error {
	return l.eachShard(ctx, func(ctx context.Context, shard int) error {
		have, err := l.formatOf(ctx, shard)
		if err != nil {
			return err
		}
		return memory.CheckFormat(have, format)
	})
}

// begin writes the format into an empty shard: a new one, or one whose server lost
// everything. Several processes may do so at once.
func (l *link) begin(ctx context.Context, shard int) error {
	have, err := l.formatOf(ctx, shard)
	if err == nil {
		err = memory.CheckFormat(have, format)
	}
	if err != nil || have == format {
		return err
	}
	return memory.Doing("write format", l.cmd.SetNX(ctx, l.keys.own(shard, "format"), format, 0).Err())
}
