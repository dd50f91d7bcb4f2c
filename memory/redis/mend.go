package redis

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	mendEvery    = time.Hour
	mendCount    = 200 // threads at once
	mendPause    = 5 * time.Millisecond
	restoreYoung = 10 * time.Minute // what this process did so long ago is put back where it is lost
	deadAfter    = 10 * time.Minute // consumers that have not asked for so long are dead
	forgottenIn  = 24 * time.Hour   // processes that were silent for so long
)

// shard is what this process knows of the state of a shard.
type shard struct {
	shook  atomic.Bool            // its server was away, or came back older: look what is missing
	steady atomic.Int64           // since when it answers again, in our own Unix nanoseconds; 0: it was never away
	beaten atomic.Int64           // the server's time of the last beat
	alive  atomic.Pointer[moment] // when that was sent
	away   atomic.Bool            // that it is away was said
	older  atomic.Int64           // when it was said that it came back older, in our own Unix nanoseconds
	mend   atomic.Bool            // what was missed is to be looked for
	beatAt atomic.Int64           // when that was, in our own Unix nanoseconds
	begun  atomic.Int64           // until when a call that this process began there may run, likewise
}

// wantsBeat says whether it matters there that this process lives, though it holds
// nothing.
func (s *shard) wantsBeat() bool {
	now := time.Now()
	return s.shook.Load() || now.UnixNano() < s.begun.Load() || now.Sub(time.Unix(0, s.beatAt.Load())) > idleBeat
}

// began notes that a call begins that takes so long at the most; 0: nobody knows.
func (s *shard) began(within time.Duration) {
	until := time.Now().Add(cmp.Or(within, time.Hour) + time.Minute).UnixNano()
	for old := s.begun.Load(); old < until && !s.begun.CompareAndSwap(old, until); old = s.begun.Load() {
	}
}

func (s *shard) shaken() {
	s.shook.Store(true)
	s.steady.Store(time.Now().UnixNano())
}

// heard is for how long at most this process can know that another one was
// silent: while a server is away, all are.
func (s *shard) heard(silent time.Duration) time.Duration {
	since := s.steady.Load()
	switch {
	case since == 0:
		return silent
	case s.shook.Load():
		return 0
	default:
		return min(silent, time.Since(time.Unix(0, since)))
	}
}

// mendLoop looks for what was missed: now and then, and when a server was away.
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
					s.log.Warn("redis: what was missed is not found yet", "shard", i, "error", err)
					s.shards[i].mend.Store(true)
				}
			}
		}
	}
}

// mend puts back what a shard lost that this process did last, makes its threads
// be looked at when they have to, and clears up what the dead left.
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
	_, err := s.tidy(ctx, shard, deadAfter, platforms)
	return err
}

func (s *Store) mendPlatform(ctx context.Context, shard int, platform string) error {
	// Ids only, all at once: a list in pages could miss what moved.
	threads, err := s.cmd.ZRange(ctx, s.keys.key(shard, "seen", platform), 0, -1).Result()
	if err != nil {
		return err
	}
	for len(threads) > 0 {
		n := min(mendCount, len(threads))
		args := []any{s.lease.Milliseconds(), s.keep.Milliseconds()}
		for _, t := range threads[:n] {
			args = append(args, t)
		}
		threads = threads[n:]
		mended, err := s.run(ctx, mendScript, shard, args...)
		if err != nil {
			return err
		}
		if n, _ := mended.(int64); n > 0 {
			s.log.Warn("redis: threads were not waiting where they should", "shard", shard, "platform", platform, "threads", n)
		}
		if err := sleep(ctx, mendPause); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes dead processes' consumers and heartbeats.
func (s *Store) tidy(ctx context.Context, shard int, idle time.Duration, platforms []string) (int64, error) {
	args := []any{group, idle.Milliseconds(), forgottenIn.Milliseconds()}
	for _, p := range platforms {
		args = append(args, p)
	}
	out, err := s.run(ctx, tidyScript, shard, args...)
	n, _ := out.(int64)
	return n, err
}
