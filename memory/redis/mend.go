package redis

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

const (
	mendEvery    = time.Hour
	mendCount    = 200              // threads at once
	restoreYoung = 10 * time.Minute // younger writes of this process are restored
	deadAfter    = 10 * time.Minute // consumers that did not ask for so long are dead
	forgottenIn  = 24 * time.Hour   // after so long a silent process is forgotten
)

// shard is this process's knowledge of a shard.
type shard struct {
	suspect atomic.Bool            // its server was away, or came back older: look for lost writes
	steady  atomic.Int64           // since when it answers again, in our Unix nanoseconds; 0: it was never away
	beaten  atomic.Int64           // the server's time of the last beat
	alive   atomic.Pointer[moment] // when that beat was sent
	away    atomic.Bool            // logged as away
	older   atomic.Int64           // when it was logged as older, in our Unix nanoseconds
	mend    atomic.Bool            // missed threads must be looked for
}

func (s *shard) shaken() {
	s.suspect.Store(true)
	s.steady.Store(time.Now().UnixNano())
}

// heard bounds the silence of another process that this one can know of: while a server
// is away, all processes are silent.
func (s *shard) heard(silent time.Duration) time.Duration {
	since := s.steady.Load()
	switch {
	case since == 0:
		return silent
	case s.suspect.Load():
		return 0
	default:
		return min(silent, time.Since(time.Unix(0, since)))
	}
}

// mendLoop looks for missed threads: from time to time, and after a server was away.
func (s *Store) mendLoop(ctx context.Context) {
	tick := time.NewTicker(mendEvery)
	defer tick.Stop()
	for {
		all := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			all = true
		case <-s.mendNow:
		}
		for i := range s.shards {
			if s.shards[i].mend.Swap(false) || all {
				if err := s.mend(ctx, i); err != nil && ctx.Err() == nil {
					s.log.Warn("redis: look for missed threads", "shard", i, "error", err)
					s.shards[i].mend.Store(true)
				}
			}
		}
	}
}

// mend restores lost writes of this process in a shard, queues threads that nobody
// would wake, and clears up after dead processes.
func (s *Store) mend(ctx context.Context, shard int) error {
	if err := errors.Join(s.countReplicas(ctx), s.restoreAll(ctx, shard)); err != nil {
		return err
	}
	platforms := s.feeds.platforms()
	for _, p := range platforms {
		if err := s.mendPlatform(ctx, shard, p); err != nil {
			return err
		}
	}
	return s.tidy(ctx, shard, deadAfter, platforms)
}

func (s *Store) mendPlatform(ctx context.Context, shard int, platform string) error {
	// Ids only, all at once: a list in pages could miss a moved one.
	threads, err := s.cmd.ZRange(ctx, s.keys.key(shard, "seen", platform), 0, -1).Result()
	if err != nil {
		return err
	}
	for some := range slices.Chunk(threads, mendCount) {
		args := []any{s.lease.Milliseconds(), s.keep.Milliseconds()}
		for _, t := range some {
			args = append(args, t)
		}
		mended, err := s.run(ctx, mendScript, shard, args...)
		if err != nil {
			return err
		}
		if n, _ := mended.(int64); n > 0 {
			s.log.Warn("redis: threads were not waiting where they should", "shard", shard, "platform", platform, "threads", n)
		}
	}
	return nil
}

// tidy removes consumers and heartbeats of processes that are gone.
func (s *Store) tidy(ctx context.Context, shard int, idle time.Duration, platforms []string) error {
	args := []any{group, idle.Milliseconds(), forgottenIn.Milliseconds()}
	for _, p := range platforms {
		args = append(args, p)
	}
	_, err := s.run(ctx, tidyScript, shard, args...)
	return err
}
