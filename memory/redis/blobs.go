package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// PutBlob implements [memory.Blobs]. A thread need not exist for that: an
// attachment is kept before its message is put.
func (s *Store) PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (string, error) {
	if len(data) > memory.BlobCap {
		return "", fmt.Errorf("keep file: %d bytes are more than %d", len(data), memory.BlobCap)
	}
	sum := sha256.Sum256(data)
	name, shard := hex.EncodeToString(sum[:16]), shardOfThread(thread)
	// The touch comes first: it is what makes the file expire some day.
	if _, err := s.run(ctx, touchScript, shard, thread.String(), s.keep.Milliseconds()); err != nil {
		return "", fmt.Errorf("keep file: %w", err)
	}
	err := s.do(ctx, func() error {
		return s.cmd.HSetNX(ctx, s.keys.key(shard, "x", thread.String()), name, data).Err()
	})
	if err != nil {
		return "", fmt.Errorf("keep file: %w", err)
	}
	return name, nil
}

// Blob implements [memory.Blobs].
func (s *Store) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	data, err := s.cmd.HGet(ctx, s.keys.key(shardOfThread(thread), "x", thread.String()), name).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, memory.ErrNoBlob
	}
	if err != nil {
		return nil, fmt.Errorf("fetch file: %w", err)
	}
	return data, nil
}

// Count implements [memory.Counters].
func (s *Store) Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error) {
	shard := shardOf("", name)
	if n == 0 {
		v, err := s.cmd.Get(ctx, s.keys.key(shard, "c", name)).Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, fmt.Errorf("read counter: %w", err)
		}
		return v, nil
	}
	// Not repeated: an answer that was lost would be counted twice.
	v, err := countScript.Run(ctx, s.cmd, []string{s.keys.tag(shard)}, name, n, max(ttl.Milliseconds(), 1)).Int64()
	if err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return v, nil
}
