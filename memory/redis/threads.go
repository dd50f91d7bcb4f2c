package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// ties bounds the threads of one shard that were touched in the same millisecond at the
// end of a page.
const ties = 64

// Threads implements [memory.Lister]. Each shard has its own list by time; a page holds
// the latest of all.
func (l *link) Threads(ctx context.Context, q memory.ListQuery) ([]memory.Listed, error) {
	from, to := "-inf", "+inf"
	if !q.Since.IsZero() {
		from = strconv.FormatInt(q.Since.UnixMilli(), 10)
	}
	begins := q.After.Touched.IsZero()
	if !begins {
		to = strconv.FormatInt(q.After.Touched.UnixMilli(), 10)
	}
	var cmds []*redis.ZSliceCmd
	_, err := l.cmd.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, platform := range q.Platforms {
			for shard := range shards {
				by := &redis.ZRangeBy{Min: from, Max: to, Count: int64(q.Most + ties)}
				cmds = append(cmds, p.ZRevRangeByScoreWithScores(ctx, l.keys.key(shard, "seen", platform), by))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	var out []memory.Listed
	for _, cmd := range cmds {
		for _, z := range cmd.Val() {
			name, _ := z.Member.(string)
			thread, err := parseThread(name)
			if err != nil {
				continue // skip an unreadable name
			}
			one := memory.Listed{Thread: thread, Touched: timeOf(int64(z.Score))}
			if begins || q.After.Before(one) {
				out = append(out, one)
			}
		}
	}
	slices.SortFunc(out, func(a, b memory.Listed) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return out[:min(len(out), q.Most)], nil
}
