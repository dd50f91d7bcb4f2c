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

// PutBlob implements [memory.Blobs]. The thread need not exist yet: an attachment is
// kept before its message.
func (s *Store) PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (string, error) {
	if len(data) > memory.BlobCap {
		return "", fmt.Errorf("keep file: %d bytes are more than %d", len(data), memory.BlobCap)
	}
	sum := sha256.Sum256(data)
	name, shard := hex.EncodeToString(sum[:]), shardOfThread(thread)
	elsewhere, err := s.bytesBeside(ctx, shard)
	var full any
	if err == nil {
		full, err = s.run(ctx, blobScript, shard, thread.String(), name, data, s.keep.Milliseconds(), s.quota.Thread, s.quota.All, elsewhere)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("keep file: %w", err)
	case full == int64(1):
		return "", memory.FullError{Most: s.quota.Thread}
	case full == int64(2):
		return "", memory.FullError{Most: s.quota.All, All: true}
	}
	return name, nil
}

// bytesBeside sums the files of all other shards, if there is a limit.
func (s *Store) bytesBeside(ctx context.Context, shard int) (sum int64, err error) {
	if s.quota.All == 0 {
		return 0, nil
	}
	for i := range shards {
		if i == shard {
			continue
		}
		n, err := s.cmd.Get(ctx, s.keys.own(i, "bytes")).Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// DropBlob implements [memory.Blobs].
func (s *Store) DropBlob(ctx context.Context, thread chat.ThreadID, name string) error {
	_, err := s.run(ctx, dropScript, shardOfThread(thread), thread.String(), name)
	return memory.Doing("drop file", err)
}

// Blob implements [memory.Blobs].
func (l *link) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	data, err := l.cmd.HGet(ctx, l.keys.key(shardOfThread(thread), "x", thread.String()), name).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, memory.ErrNoBlob
	}
	return data, memory.Doing("fetch file", err)
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
	// Without a retry: a lost answer would be counted twice.
	var v int64
	err := s.retry(ctx, shard, once, func() (err error) {
		v, err = countScript.Run(ctx, s.cmd, []string{s.keys.tag(shard)}, name, n, max(ttl.Milliseconds(), 1)).Int64()
		return err
	})
	return v, memory.Doing("count", err)
}
