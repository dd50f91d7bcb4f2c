package redis

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// Note implements [memory.Notes].
func (s *Store) Note(ctx context.Context, name string, value []byte) error {
	key := s.keys.key(shardOf("", name), "note", name)
	err := s.retry(ctx, shardOf("", name), briefly, func() error {
		if len(value) == 0 {
			return s.cmd.Del(ctx, key).Err()
		}
		return s.cmd.Set(ctx, key, value, 0).Err()
	})
	return memory.Doing("note "+name, err)
}

// Swap implements [memory.Notes].
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) (done bool, err error) {
	shard := shardOf("", name)
	err = s.retry(ctx, shard, briefly, func() (err error) {
		done, err = swapScript.Run(ctx, s.cmd, []string{s.keys.tag(shard)}, name, old, value).Bool()
		return err
	})
	return done, memory.Doing("note "+name, err)
}

// Noted implements [memory.Notes].
func (l *link) Noted(ctx context.Context, name string) (value []byte, err error) {
	err = l.retry(ctx, shardOf("", name), briefly, func() error {
		value, err = l.cmd.Get(ctx, l.keys.key(shardOf("", name), "note", name)).Bytes()
		if errors.Is(err, redis.Nil) {
			value, err = nil, nil
		}
		return err
	})
	return value, memory.Doing("read note "+name, err)
}
