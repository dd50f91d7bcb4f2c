package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// page is the size of one read of a list.
const page = 500

// Read implements [memory.Reader].
func (l *link) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	old, t, err := l.read(ctx, thread, "-1")
	return slices.Concat(old, t.Log, t.Inbox), memory.Doing("read thread", err)
}

// Tail implements [memory.Reader].
func (l *link) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	_, t, err := l.read(ctx, thread, strconv.FormatUint(after, 10))
	return t, memory.Doing("read end of thread", err)
}

func (l *link) read(ctx context.Context, thread chat.ThreadID, after string) (old []memory.Entry, t memory.Tail, err error) {
	r := newReply(l.run(ctx, readScript, shardOfThread(thread), thread.String(), after))
	t.Base, t.Last = uint64(r.int()), uint64(r.int())
	first := uint64(r.int())
	old = decodeKept(r.strings())
	t.Log = decodeEntries(r.strings(), first)
	t.Inbox = decodeEntries(r.strings(), 0)
	return old, t, r.err
}

// Pending implements [memory.Catchup].
func (l *link) Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error] {
	return func(yield func(memory.PendingApproval, error) bool) {
		for shard := range shards {
			threads, err := l.cmd.SMembers(ctx, l.keys.key(shard, "ask", platform)).Result()
			if err != nil {
				yield(memory.PendingApproval{}, fmt.Errorf("list pending approvals: %w", err))
				return
			}
			for _, thread := range threads {
				if !l.pendingOf(ctx, shard, thread, yield) {
					return
				}
			}
		}
	}
}

func (l *link) pendingOf(ctx context.Context, shard int, thread string, yield func(memory.PendingApproval, error) bool) bool {
	asks, err := l.cmd.HGetAll(ctx, l.keys.key(shard, "p", thread)).Result()
	var due int64
	if err == nil {
		due, err = l.cmd.HGet(ctx, l.keys.key(shard, "t", thread), "w").Int64()
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		yield(memory.PendingApproval{}, fmt.Errorf("list pending approvals: %w", err))
		return false
	}
	for call, ref := range asks {
		a := memory.PendingApproval{Call: call}
		if due > 0 {
			a.Due = timeOf(due)
		}
		if a.Thread, err = parseThread(thread); err == nil {
			err = a.Ref.UnmarshalText([]byte(ref))
		}
		if !yield(a, err) {
			return false
		}
	}
	return true
}

// Watermarks implements [memory.Catchup].
func (l *link) Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[memory.Watermark, error] {
	from := "-inf"
	if !since.IsZero() {
		from = strconv.FormatInt(since.UnixMilli(), 10)
	}
	return func(yield func(memory.Watermark, error) bool) {
		found, err := l.watermarks(ctx, platform, from, most)
		for _, m := range found {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(memory.Watermark{}, fmt.Errorf("list watermarks: %w", err))
		}
	}
}

// watermarks reads more threads if some of the latest have no message with a name. It
// returns fewer than most only if there are no others.
func (l *link) watermarks(ctx context.Context, platform, from string, most int) ([]memory.Watermark, error) {
	for bound := most; ; bound *= 2 {
		threads, err := l.touched(ctx, platform, from, "+inf", bound)
		if err != nil {
			return nil, err
		}
		all := bound == 0 || len(threads) < bound
		if !all {
			threads = threads[:bound]
		}
		found, err := l.marks(ctx, threads)
		if err != nil || all || len(found) >= most {
			return found, err
		}
	}
}

// listed is a thread in a shard's list by time.
type listed struct {
	shard   int
	thread  string
	touched int64 // milliseconds
}

// touched lists threads of a platform between two times, the latest ones of all shards
// first and at most most of each; 0: all.
func (l *link) touched(ctx context.Context, platform, from, to string, most int) (out []listed, err error) {
	// Ids only: a touched thread moves to the end, and pages could miss a moved one.
	by := &redis.ZRangeBy{Min: from, Max: to, Count: int64(most)}
	var found [shards][]redis.Z
	err = l.eachShard(ctx, func(ctx context.Context, shard int) (err error) {
		found[shard], err = l.cmd.ZRevRangeByScoreWithScores(ctx, l.keys.key(shard, "seen", platform), by).Result()
		return err
	})
	for shard, list := range found {
		for _, z := range list {
			name, _ := z.Member.(string)
			out = append(out, listed{shard, name, int64(z.Score)})
		}
	}
	slices.SortStableFunc(out, func(a, b listed) int { return cmp.Compare(b.touched, a.touched) })
	return out, err
}

// marks gives the latest message of each thread, if it has one.
func (l *link) marks(ctx context.Context, threads []listed) (out []memory.Watermark, err error) {
	var cmds []*redis.SliceCmd
	for some := range slices.Chunk(threads, page) {
		_, err := l.cmd.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, t := range some {
				cmds = append(cmds, p.HMGet(ctx, l.keys.key(t.shard, "t", t.thread), "m", "d"))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i, cmd := range cmds {
		ref, _ := cmd.Val()[0].(string)
		sent, _ := cmd.Val()[1].(string)
		if ref == "" {
			continue
		}
		var m memory.Watermark
		if m.Thread, err = parseThread(threads[i].thread); err != nil {
			return out, err
		}
		if m.Last, err = chat.ParseMessageRef(ref); err != nil {
			return out, fmt.Errorf("read name of message: %w", err)
		}
		if m.Sent, err = time.Parse(time.RFC3339Nano, sent); err != nil {
			return out, fmt.Errorf("read time of message: %w", err)
		}
		out = append(out, m)
	}
	return out, nil
}

// ties bounds the threads of one shard that were touched in the same millisecond at the
// end of a page.
const ties = 64

// Threads implements [memory.Lister].
func (l *link) Threads(ctx context.Context, q memory.ListQuery) (out []memory.Listed, err error) {
	from, to := "-inf", "+inf"
	if !q.Since.IsZero() {
		from = strconv.FormatInt(q.Since.UnixMilli(), 10)
	}
	begins := q.After.Touched.IsZero()
	if !begins {
		to = strconv.FormatInt(q.After.Touched.UnixMilli(), 10)
	}
	for _, platform := range q.Platforms {
		found, err := l.touched(ctx, platform, from, to, q.Most+ties)
		if err != nil {
			return nil, fmt.Errorf("list threads: %w", err)
		}
		for _, t := range found {
			one := memory.Listed{Touched: timeOf(t.touched)}
			if one.Thread, err = parseThread(t.thread); err != nil {
				continue // skip an unreadable name
			}
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
