package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"nod/memory"
)

// thisFormat is the format that this build reads and writes. A shard without a
// number has the first one.
const thisFormat = 3

// upgrade brings shards from one format to the next. It may be cut off, and done
// again, by several processes at once.
type upgrade func(ctx context.Context, l *link, shards []int) error

// steps bring an older format up to date, one after the other. What was written
// in any format can be read for ever; a step is added, never changed.
func steps() []upgrade { return []upgrade{weighFiles, chainAudit} }

// bringUpToDate raises the format of shards, step by step.
func (l *link) bringUpToDate(ctx context.Context, these []int, steps []upgrade) error {
	for from := 1; from <= len(steps); from++ {
		var older []int
		for _, shard := range these {
			have, err := l.formatOf(ctx, shard)
			if err != nil {
				return err
			}
			if have > len(steps)+1 {
				return memory.FormatError{Have: have, Reads: len(steps) + 1}
			}
			if have == from {
				older = append(older, shard)
			}
		}
		if len(older) == 0 {
			continue
		}
		if err := steps[from-1](ctx, l, older); err != nil {
			return fmt.Errorf("bring format %d up to date: %w", from, err)
		}
		for _, shard := range older {
			if _, err := l.run(ctx, formatScript, shard, from, from+1); err != nil {
				return fmt.Errorf("write format %d: %w", from+1, err)
			}
		}
	}
	return nil
}

// formatOf tells the format of a shard without changing anything.
func (l *link) formatOf(ctx context.Context, shard int) (have int, err error) {
	err = l.do(ctx, shard, fewTimes, func() error {
		have, err = l.cmd.Get(ctx, l.keys.own(shard, "format")).Int()
		if err == redis.Nil { //nolint:errorlint // it is returned as it is
			have, err = 1, nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read format: %w", err)
	}
	return have, nil
}

// oldest gives the oldest format of all shards, or [memory.FormatError] where
// one is newer than this build.
func (l *link) oldest(ctx context.Context) (int, error) {
	oldest := thisFormat
	for shard := range shards {
		have, err := l.formatOf(ctx, shard)
		if err != nil {
			return 0, err
		}
		if have > thisFormat {
			return 0, memory.FormatError{Have: have, Reads: thisFormat}
		}
		oldest = min(oldest, have)
	}
	return oldest, nil
}

func everyShard() []int {
	out := make([]int, shards)
	for i := range out {
		out[i] = i
	}
	return out
}

// weighFiles leads to format 2: it counts the bytes of files, and it knows event
// ids by channel. The ids of format 1 are looked up as they are for as long as
// they are known.
func weighFiles(ctx context.Context, l *link, these []int) error {
	for _, shard := range these {
		if err := l.cmd.Set(ctx, l.keys.own(shard, "former"), "1", memory.EventTTL).Err(); err != nil {
			return fmt.Errorf("note former event ids: %w", err)
		}
	}
	return l.eachFiled(ctx, these, func(shard int, thread string) error {
		_, err := l.run(ctx, reckonScript, shard, thread)
		return err
	})
}

// eachFiled calls f for every thread of these shards that has files.
func (l *link) eachFiled(ctx context.Context, these []int, f func(shard int, thread string) error) error {
	return l.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		for _, shard := range these {
			prefix := l.keys.key(shard, "x", "")
			found := c.Scan(ctx, 0, globEscape.Replace(prefix)+"*", 1000).Iterator()
			for found.Next(ctx) {
				if err := f(shard, found.Val()[len(prefix):]); err != nil {
					return err
				}
			}
			if err := found.Err(); err != nil {
				return fmt.Errorf("look for files: %w", err)
			}
		}
		return nil
	})
}

// globEscape makes a name mean itself in a pattern.
var globEscape = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, `\`, `\\`)
