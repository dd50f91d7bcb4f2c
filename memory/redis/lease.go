package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// beat renews the leases of every run that this process holds, a few times in
// the length of one. It also hears then of mail that came while the channel
// for it was broken.
func (s *Store) beat(ctx context.Context) {
	for sleep(ctx, s.lease/3) == nil {
		for shard, runs := range s.held.list(false) {
			if len(runs) == 0 {
				continue
			}
			// A server that is away can give the thread to nobody else either.
			if err := s.renew(ctx, shard, runs); err != nil && ctx.Err() == nil {
				s.log.Warn("redis: leases not renewed", "error", err)
			}
		}
	}
}

func (s *Store) renew(ctx context.Context, shard int, runs []*held) error {
	args := []any{s.lease.Milliseconds()}
	for _, r := range runs {
		args = append(args, r.thread, r.token)
	}
	reply := newReply(s.run(ctx, beatScript, shard, args...))
	for _, r := range runs {
		n := reply.int()
		switch {
		case reply.err != nil:
			return reply.err
		case n < 0:
			s.held.lose(r)
		case n > 0:
			s.held.mail(r.thread)
		}
	}
	return nil
}

// hearMail hears from other processes that something arrived for a thread that
// is held here.
func (s *Store) hearMail(ctx context.Context) {
	sub := s.wait.Subscribe(ctx, s.keys.mail(s.me))
	defer func() { _ = sub.Close() }()
	heard := sub.Channel(redis.WithChannelHealthCheckInterval(time.Minute))
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-heard:
			if !ok {
				return
			}
			s.held.mail(m.Payload)
		}
	}
}

// leave gives up everything that this process has.
func (s *Store) leave(ctx context.Context) error {
	var errs []error
	for shard, runs := range s.held.close() {
		for _, r := range runs {
			_, err := s.run(ctx, handoffScript, shard, r.thread, r.token, s.lease.Milliseconds())
			errs = append(errs, err)
		}
	}
	offers, _ := s.feeds.unclaimed(true)
	errs = append(errs, s.giveBack(ctx, offers))
	for _, f := range s.feeds.by {
		_, err := s.cmd.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, part := range s.streams(f.platforms) {
				for name := range part {
					p.XGroupDelConsumer(ctx, name, group, s.me)
				}
			}
			return nil
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Consumers that have not asked for so long are dead.
const deadAfter = 10 * time.Minute

// bury removes dead processes' consumers. Failing to costs nothing but a few
// bytes in the server.
func (s *Store) bury(ctx context.Context, platforms []string) {
	if _, err := s.buryIdle(ctx, deadAfter, platforms); err != nil && ctx.Err() == nil {
		s.log.Info("redis: dead consumers not removed", "error", err)
	}
}

func (s *Store) buryIdle(ctx context.Context, idle time.Duration, platforms []string) (int64, error) {
	args := []any{group, idle.Milliseconds()}
	for _, p := range platforms {
		args = append(args, p)
	}
	var removed int64
	for shard := range shards {
		n, err := s.run(ctx, buryScript, shard, args...)
		if err != nil {
			return removed, err
		}
		if n, ok := n.(int64); ok {
			removed += n
		}
	}
	return removed, nil
}
