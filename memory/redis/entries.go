package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// An entry in the server is its time in milliseconds, a flag, and its JSON. The flag
// marks entries that outlive `forget`.
const (
	plain = " "
	kept  = "!"
)

// dueEntry is the JSON that scripts write for a passed deadline.
var dueEntry = func() string {
	raw, err := memory.Encode(memory.Due{})
	if err != nil {
		panic(err) // it is a constant
	}
	return string(raw)
}()

// encode gives flag and JSON; the script sets the time before it.
func encode(b memory.Body) (string, error) {
	raw, err := memory.Encode(b)
	if err != nil {
		return "", err
	}
	return flagOf(b) + string(raw), nil
}

func flagOf(b memory.Body) string {
	if b.Kind() == (memory.Started{}).Kind() {
		return kept
	}
	return plain
}

// decodeEntry reads an entry. A damaged one is a [memory.Broken].
func decodeEntry(s string, seq uint64) memory.Entry {
	if i := strings.IndexAny(s, plain+kept); i >= 0 {
		if ms, err := strconv.ParseInt(s[:i], 10, 64); err == nil {
			return memory.Entry{Seq: seq, At: timeOf(ms), Body: memory.Decode([]byte(s[i+1:]))}
		}
	}
	return memory.Entry{Seq: seq, At: timeOf(0), Body: memory.Broken{Raw: []byte(s), Err: "decode entry: it has no time"}}
}

// decodeEntries reads entries whose Seq goes up from first; 0: they have none.
func decodeEntries(list []string, first uint64) []memory.Entry {
	if len(list) == 0 {
		return nil
	}
	out := make([]memory.Entry, 0, len(list))
	for i, s := range list {
		seq := first
		if first > 0 {
			seq += uint64(i)
		}
		out = append(out, decodeEntry(s, seq))
	}
	return out
}

// decodeKept reads entries that outlived `forget`: each begins with its Seq.
func decodeKept(list []string) []memory.Entry {
	var out []memory.Entry
	for _, s := range list {
		number, rest, _ := strings.Cut(s, " ")
		seq, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			rest = s
		}
		out = append(out, decodeEntry(rest, seq))
	}
	return out
}

// Rewrite implements [memory.Rewriter].
func (s *Store) Rewrite(ctx context.Context, thread chat.ThreadID, edit func([]memory.Entry) []memory.Body) error {
	for done := false; !done; {
		var err error
		if done, err = s.rewrite(ctx, thread.String(), shardOfThread(thread), edit); err != nil {
			return fmt.Errorf("rewrite a thread: %w", err)
		}
	}
	s.take(thread.String())
	return nil
}

// rewrite is one try of Rewrite: false if the thread changed meanwhile. The head is read
// first, so the lists are not older.
func (s *Store) rewrite(ctx context.Context, thread string, shard int, edit func([]memory.Entry) []memory.Body) (bool, error) {
	of := func(kind string) string { return s.keys.key(shard, kind, thread) }
	head, err := s.cmd.HMGet(ctx, of("t"), "c", "f").Result()
	if err != nil {
		return false, err
	}
	seen, _ := head[0].(string)
	text, _ := head[1].(string)
	first, _ := strconv.ParseUint(text, 10, 64)
	lists := map[string][]string{}
	for _, kind := range []string{"k", "l", "i"} {
		if lists[kind], err = s.cmd.LRange(ctx, of(kind), 0, -1).Result(); err != nil {
			return false, err
		}
	}
	log := slices.Concat(decodeKept(lists["k"]), decodeEntries(lists["l"], max(first, 1)), decodeEntries(lists["i"], 0))
	args := []any{thread, seen, len(lists["i"]), s.words.next()}
	for i, body := range edit(log) {
		kind := "k"
		for i >= len(lists[kind]) {
			i -= len(lists[kind])
			kind = map[string]string{"k": "l", "l": "i"}[kind]
		}
		if body == nil {
			continue
		}
		raw, err := encode(body)
		if err != nil {
			return false, err
		}
		old := lists[kind][i]
		args = append(args, kind, i, old[:max(0, strings.IndexByte(old, '{')-1)]+raw)
	}
	if len(args) == 4 {
		return true, nil
	}
	r := newReply(s.run(ctx, rewriteScript, shard, args...))
	done := r.int() == 1
	return done, r.err
}

// timeOf converts milliseconds of the server's clock; zero is no time.
func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// millisOf rounds up, so that nothing is due before its time.
func millisOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Add(time.Millisecond-1).UnixMilli(), 1)
}

var errName = errors.New("read name of thread")

func parseThread(s string) (chat.ThreadID, error) {
	t, err := chat.ParseThreadID(s)
	if err != nil {
		return t, fmt.Errorf("%w: %w", errName, err)
	}
	return t, nil
}

// weightOf sums the bytes of entries.
func weightOf(list []string) (n int) {
	for _, s := range list {
		n += len(s)
	}
	return n
}
