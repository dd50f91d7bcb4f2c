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
	"golang.org/x/sync/errgroup"

	"nod/chat"
	"nod/memory"
)

// page is the size of one read of a list.
const page = 500

// Read implements [memory.Reader].
func (l *link) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	old, t, err := l.read(ctx, thread, "-1")
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	return slices.Concat(old, t.Log, t.Inbox), nil
}

// Tail implements [memory.Reader].
func (l *link) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	_, t, err := l.read(ctx, thread, strconv.FormatUint(after, 10))
	if err != nil {
		return memory.Tail{}, fmt.Errorf("read end of thread: %w", err)
	}
	return t, nil
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
			for len(threads) > 0 {
				n := min(page, len(threads))
				if !l.pendingOf(ctx, shard, threads[:n], yield) {
					return
				}
				threads = threads[n:]
			}
		}
	}
}

func (l *link) pendingOf(ctx context.Context, shard int, threads []string, yield func(memory.PendingApproval, error) bool) bool {
	cmds, dues := make([]*redis.MapStringStringCmd, len(threads)), make([]*redis.StringCmd, len(threads))
	_, err := l.cmd.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, thread := range threads {
			cmds[i] = p.HGetAll(ctx, l.keys.key(shard, "p", thread))
			dues[i] = p.HGet(ctx, l.keys.key(shard, "t", thread), "w")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		yield(memory.PendingApproval{}, fmt.Errorf("list pending approvals: %w", err))
		return false
	}
	for i, cmd := range cmds {
		due, _ := dues[i].Int64()
		for call, ref := range cmd.Val() {
			a := memory.PendingApproval{Call: call}
			if due > 0 {
				a.Due = timeOf(due)
			}
			if a.Thread, err = parseThread(threads[i]); err == nil {
				err = a.Ref.UnmarshalText([]byte(ref))
			}
			if !yield(a, err) {
				return false
			}
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
		threads, all, err := l.touched(ctx, platform, from, bound)
		if err != nil {
			return nil, err
		}
		found, err := l.allMarks(ctx, threads)
		if err != nil || all || len(found) >= most {
			return found, err
		}
	}
}

// shardsAtOnce shards are read at the same time in a large listing: one server reads
// while this process decodes another's answer.
const shardsAtOnce = 4

func eachShard(do func(shard int) error) error {
	var g errgroup.Group
	g.SetLimit(shardsAtOnce)
	for shard := range shards {
		g.Go(func() error { return do(shard) })
	}
	return g.Wait()
}

// touched lists at most most of the threads touched since then, the latest ones, and
// says whether these are all.
func (l *link) touched(ctx context.Context, platform, from string, most int) (threads [shards][]redis.Z, all bool, err error) {
	// Ids only: a touched thread moves to the end, and pages could miss a moved one.
	by := &redis.ZRangeBy{Min: from, Max: "+inf", Count: int64(most)}
	err = eachShard(func(shard int) (err error) {
		threads[shard], err = l.cmd.ZRevRangeByScoreWithScores(ctx, l.keys.key(shard, "seen", platform), by).Result()
		return err
	})
	n := 0
	for _, list := range threads {
		n += len(list)
	}
	keepLatest(&threads, most)
	return threads, most == 0 || n < most, err
}

// keepLatest keeps the latest threads of all shards.
func keepLatest(threads *[shards][]redis.Z, most int) {
	var scores []float64
	for _, list := range threads {
		for _, z := range list {
			scores = append(scores, z.Score)
		}
	}
	if most == 0 || len(scores) <= most {
		return
	}
	slices.SortFunc(scores, func(x, y float64) int { return cmp.Compare(y, x) })
	oldest := scores[most-1]
	room := most - slices.Index(scores, oldest) // for those of that moment
	for shard, list := range threads {
		threads[shard] = slices.DeleteFunc(list, func(z redis.Z) bool {
			if z.Score == oldest {
				room--
				return room < 0
			}
			return z.Score < oldest
		})
	}
}

// allMarks gives the latest message of each thread, if it has one.
func (l *link) allMarks(ctx context.Context, threads [shards][]redis.Z) ([]memory.Watermark, error) {
	var found [shards][]memory.Watermark
	err := eachShard(func(shard int) (err error) {
		for some := range slices.Chunk(threads[shard], page) {
			if found[shard], err = l.marks(ctx, shard, some, found[shard]); err != nil {
				break
			}
		}
		return err
	})
	return slices.Concat(found[:]...), err
}

// memberOf is the thread's name in a sorted set.
func memberOf(z redis.Z) string { s, _ := z.Member.(string); return s }

// marks appends the latest message of each thread, if it has one.
func (l *link) marks(ctx context.Context, shard int, threads []redis.Z, out []memory.Watermark) ([]memory.Watermark, error) {
	cmds := make([]*redis.SliceCmd, len(threads))
	_, err := l.cmd.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, thread := range threads {
			cmds[i] = p.HMGet(ctx, l.keys.key(shard, "t", memberOf(thread)), "m", "d")
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	for i, cmd := range cmds {
		ref, _ := cmd.Val()[0].(string)
		sent, _ := cmd.Val()[1].(string)
		if ref == "" {
			continue
		}
		var m memory.Watermark
		if m.Thread, err = parseThread(memberOf(threads[i])); err != nil {
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
