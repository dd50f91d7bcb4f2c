package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// reportOlder logs that the server lost writes: at ERROR once, and details of the next
// minute at INFO.
func (s *Store) reportOlder(i int, what, thread string) {
	sh := &s.shards[i]
	sh.shaken()
	level := slog.LevelInfo
	if last := sh.older.Swap(time.Now().UnixNano()); time.Since(time.Unix(0, last)) > time.Minute {
		level = slog.LevelError
	}
	s.log.Log(context.Background(), level, "redis: the store came back older", "evidence", what, "shard", i, "thread", thread)
	signal(s.mendNow)
}

// restore sends a thread's lost entries to the server again, if the server's head is an
// earlier one of the thread: nobody went on since. done says whether the head is right
// now. With a token the thread is held then.
func (s *Store) restore(ctx context.Context, m *remembered, head, token string) (done bool, err error) {
	seq, raw, ok := m.past.since(head)
	if !ok {
		return false, nil
	}
	thread, err := parseThread(m.thread)
	if err != nil {
		return false, err
	}
	c := restoredChange(thread, seq, raw)
	h := &held{shard: m.shard, chain: m.chain}
	state, _, err := s.follow(ctx, h, c, func(audit []string) (any, error) {
		args := append(c.args(s, s.words.self, token, head, m.past.last().head, audit), seq)
		return s.runDurably(ctx, restoreScript, m.shard, args...)
	})
	if err != nil {
		return false, fmt.Errorf("restore: %w", err)
	}
	if state == 0 {
		s.reportOlder(m.shard, "lost entries of a thread were restored", m.thread)
	}
	return state == 0, nil
}

// restoreAll checks that the server has this process's last writes in a shard.
func (s *Store) restoreAll(ctx context.Context, shard int) error {
	for _, m := range s.recentOf(shard, restoreYoung) {
		head, err := s.cmd.HGet(ctx, s.keys.key(shard, "t", m.thread), "c").Result()
		if err == nil && head != "" {
			_, err = s.restore(ctx, m, head, "")
		}
		if err != nil && !errors.Is(err, redis.Nil) {
			return fmt.Errorf("look at the end of a log: %w", err)
		}
	}
	return nil
}
