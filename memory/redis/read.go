package redis

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// page is how many things of a list are asked for at once.
const page = 500

// Read implements [memory.Reader].
func (s *Store) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	r := newReply(s.run(ctx, readScript, shardOfThread(thread), thread.String()))
	first := uint64(r.int())
	old, entries, inbox := r.strings(), r.strings(), r.strings()
	if r.err != nil {
		return nil, fmt.Errorf("read thread: %w", r.err)
	}
	log, err := decodeKept(old)
	for _, part := range []struct {
		list  []string
		first uint64
	}{{entries, first}, {inbox, 0}} {
		if err != nil {
			break
		}
		var more []memory.Entry
		more, err = decodeEntries(part.list, part.first)
		for i := range more {
			if part.first == 0 {
				more[i].Seq = 0
			}
		}
		log = append(log, more...)
	}
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	return log, nil
}

// Pending implements [memory.Catchup].
func (s *Store) Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error] {
	return func(yield func(memory.PendingApproval, error) bool) {
		for shard := range shards {
			threads, err := s.cmd.SMembers(ctx, s.keys.key(shard, "ask", platform)).Result()
			if err != nil {
				yield(memory.PendingApproval{}, fmt.Errorf("list pending approvals: %w", err))
				return
			}
			for _, thread := range threads {
				if !s.pendingOf(ctx, shard, thread, yield) {
					return
				}
			}
		}
	}
}

func (s *Store) pendingOf(ctx context.Context, shard int, name string, yield func(memory.PendingApproval, error) bool) bool {
	calls, err := s.cmd.HGetAll(ctx, s.keys.key(shard, "p", name)).Result()
	if err != nil {
		yield(memory.PendingApproval{}, fmt.Errorf("list pending approvals: %w", err))
		return false
	}
	for call, ref := range calls {
		a := memory.PendingApproval{Call: call}
		if a.Thread, err = parseThread(name); err == nil {
			err = a.Ref.UnmarshalText([]byte(ref))
		}
		if !yield(a, err) {
			return false
		}
	}
	return true
}

// Watermarks implements [memory.Catchup].
func (s *Store) Watermarks(ctx context.Context, platform string, since time.Time) iter.Seq2[memory.Watermark, error] {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(since.UnixMilli(), 10)
	}
	return func(yield func(memory.Watermark, error) bool) {
		for shard := range shards {
			seen := s.keys.key(shard, "seen", platform)
			// Ids only: what is touched meanwhile moves to the end, and a
			// list in pages could miss what moved.
			threads, err := s.cmd.ZRangeByScore(ctx, seen, &redis.ZRangeBy{Min: from, Max: "+inf"}).Result()
			for len(threads) > 0 && err == nil {
				n := min(page, len(threads))
				var marks []memory.Watermark
				if marks, err = s.marks(ctx, shard, threads[:n]); err != nil {
					break
				}
				for _, m := range marks {
					if !yield(m, nil) {
						return
					}
				}
				threads = threads[n:]
			}
			if err != nil {
				yield(memory.Watermark{}, fmt.Errorf("list watermarks: %w", err))
				return
			}
		}
	}
}

// marks gives the latest message of each thread that has one.
func (s *Store) marks(ctx context.Context, shard int, threads []string) ([]memory.Watermark, error) {
	cmds := make([]*redis.SliceCmd, len(threads))
	_, err := s.cmd.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, thread := range threads {
			cmds[i] = p.HMGet(ctx, s.keys.key(shard, "t", thread), "m", "d")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []memory.Watermark
	for i, cmd := range cmds {
		ref, _ := cmd.Val()[0].(string)
		sent, _ := cmd.Val()[1].(string)
		if ref == "" {
			continue
		}
		var m memory.Watermark
		if m.Thread, err = parseThread(threads[i]); err != nil {
			return nil, err
		}
		if err := m.Last.UnmarshalText([]byte(ref)); err != nil {
			return nil, fmt.Errorf("read name of message: %w", err)
		}
		if m.Sent, err = time.Parse(time.RFC3339Nano, sent); err != nil {
			return nil, fmt.Errorf("read time of message: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}
