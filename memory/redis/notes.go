package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Note implements [memory.Notes].
func (s *Store) Note(ctx context.Context, name string, value []byte) error {
	key := s.keys.key(shardOf("", name), "note", name)
	err := s.retry(ctx, shardOf("", name), retryBriefly, func() error {
		if len(value) == 0 {
			return s.cmd.Del(ctx, key).Err()
		}
		return s.cmd.Set(ctx, key, value, 0).Err()
	})
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

// Swap implements [memory.Notes].
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) (done bool, err error) {
	shard := shardOf("", name)
	err = s.retry(ctx, shard, retryBriefly, func() (err error) {
		done, err = swapScript.Run(ctx, s.cmd, []string{s.keys.tag(shard)}, name, old, value).Bool()
		return err
	})
	if err != nil {
		return false, fmt.Errorf("note %s: %w", name, err)
	}
	return done, nil
}

// Noted implements [memory.Notes].
func (l *link) Noted(ctx context.Context, name string) (value []byte, err error) {
	err = l.retry(ctx, shardOf("", name), retryBriefly, func() error {
		value, err = l.cmd.Get(ctx, l.keys.key(shardOf("", name), "note", name)).Bytes()
		if errors.Is(err, redis.Nil) {
			value, err = nil, nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read note %s: %w", name, err)
	}
	return value, nil
}
