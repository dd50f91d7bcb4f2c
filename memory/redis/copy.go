package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// portable is a store without goroutines: nothing is swept, claimed or renewed.
type portable struct {
	*Store
	names memory.Names // nil: not read yet
}

// Portable connects to the servers to copy the store, or to copy another one into it.
func Portable(ctx context.Context, url string, o Options) (memory.Portable, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	p := &portable{Store: newStore(a, o)}
	if err = p.checkFormats(ctx); err == nil {
		err = p.eachShard(ctx, p.begin)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open redis store: %w", err), p.Close())
	}
	return p, nil
}

// Close implements [memory.Portable].
func (p *portable) Close() error { return errors.Join(p.Store.wait.Close(), p.cmd.Close()) }

// Running implements [memory.Portable]. Each process listens for its mail.
func (p *portable) Running(ctx context.Context) (running bool, err error) {
	err = p.eachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
		found, err := c.PubSubChannels(ctx, p.keys.mail("*")).Result()
		running = running || len(found) > 0
		return err
	})
	return running, err
}

// scan lists the names of a kind of keys in a shard.
func (p *portable) scan(ctx context.Context, shard int, kind string) (names []string, err error) {
	c, err := p.master(ctx, shard)
	if err != nil {
		return nil, err
	}
	prefix := p.keys.key(shard, kind, "")
	found := c.Scan(ctx, 0, prefix+"*", page).Iterator()
	for found.Next(ctx) {
		names = append(names, strings.TrimPrefix(found.Val(), prefix))
	}
	slices.Sort(names)
	return slices.Compact(names), found.Err()
}

// Records implements [memory.Portable].
func (p *portable) Records(ctx context.Context) iter.Seq2[memory.Record, error] {
	parts := []func(context.Context, int, func(memory.Record) bool) error{
		p.threadRecords, p.fileRecords, p.valueRecords, p.hashRecords,
	}
	return func(yield func(memory.Record, error) bool) {
		stopped := false
		send := func(r memory.Record) bool {
			stopped = stopped || !yield(r, nil)
			return !stopped
		}
		for _, part := range parts {
			for shard := range shards {
				err := part(ctx, shard, send)
				if stopped {
					return
				}
				if err != nil {
					yield(memory.Record{}, fmt.Errorf("read records: %w", err))
					return
				}
			}
		}
		n := uint64(0)
		for k, err := range p.Lines(ctx) {
			n++
			var l memory.AuditLine
			if err == nil {
				l, err = memory.DecodeLine(k.Raw)
			}
			r := memory.Record{Kind: memory.RecordAudit, Key: l.Thread.String(), N: n, Value: k.Raw, Text: k.Text}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (p *portable) threadRecords(ctx context.Context, shard int, send func(memory.Record) bool) error {
	names, err := p.scan(ctx, shard, "t")
	if err != nil {
		return err
	}
	for _, name := range names {
		records, err := p.recordsOf(ctx, shard, name)
		if err != nil {
			return err
		}
		for _, r := range records {
			if !send(r) {
				return nil
			}
		}
	}
	return nil
}

func (p *portable) recordsOf(ctx context.Context, shard int, name string) ([]memory.Record, error) {
	of := func(kind string) string { return p.keys.key(shard, kind, name) }
	var thread, pending *redis.MapStringStringCmd
	var kept, log, inbox *redis.StringSliceCmd
	_, err := p.cmd.Pipelined(ctx, func(c redis.Pipeliner) error {
		thread, pending = c.HGetAll(ctx, of("t")), c.HGetAll(ctx, of("p"))
		kept, log, inbox = c.LRange(ctx, of("k"), 0, -1), c.LRange(ctx, of("l"), 0, -1), c.LRange(ctx, of("i"), 0, -1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	t, first, err := stateOf(thread.Val())
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", name, err)
	}
	var entries []memory.Record
	for _, raw := range kept.Val() {
		number, rest, _ := strings.Cut(raw, " ")
		seq, _ := strconv.ParseUint(number, 10, 64)
		entries = append(entries, entryRecord(memory.RecordLog, name, seq, rest))
	}
	for i, raw := range log.Val() {
		entries = append(entries, entryRecord(memory.RecordLog, name, first+uint64(i), raw))
	}
	head, err := t.Record(name, entries)
	if err != nil || t.Gone {
		return []memory.Record{head}, err
	}
	out := append([]memory.Record{head}, entries...)
	for i, raw := range inbox.Val() {
		out = append(out, entryRecord(memory.RecordInbox, name, uint64(i)+1, raw))
	}
	for call, ref := range pending.Val() {
		out = append(out, memory.Record{Kind: memory.RecordPending, Thread: name, Key: call, Value: []byte(ref)})
	}
	return out, nil
}

// stateOf reads the hash of a thread, and the Seq of the first entry of its list.
func stateOf(h map[string]string) (t memory.ThreadState, first uint64, err error) {
	num := func(field string) int64 {
		n, _ := strconv.ParseInt(h[field], 10, 64)
		return n
	}
	t = memory.ThreadState{
		Seq: uint64(num("n")), Base: uint64(num("b")), WakeAt: num("w"), Touched: num("u"),
		Gone: strings.HasPrefix(h["c"], "expired "), LastRef: h["m"],
	}
	if h["s"] != "" { // a run that held it is over
		t.Woken = max(num("r"), 1)
	}
	if h["d"] != "" {
		sent, err := time.Parse(time.RFC3339Nano, h["d"])
		if err != nil {
			return t, 0, err
		}
		t.LastSent = sent.UnixMicro()
	}
	return t, max(uint64(num("f")), 1), nil
}

func entryRecord(kind, thread string, n uint64, raw string) memory.Record {
	r := memory.Record{Kind: kind, Thread: thread, N: n, Value: []byte(raw)}
	if i := strings.IndexAny(raw, plain+kept); i >= 0 {
		r.At, _ = strconv.ParseInt(raw[:i], 10, 64)
		r.Value = []byte(raw[i+1:])
	}
	return r
}

func (p *portable) fileRecords(ctx context.Context, shard int, send func(memory.Record) bool) error {
	threads, err := p.scan(ctx, shard, "x")
	for _, thread := range threads {
		files, err := p.cmd.HKeys(ctx, p.keys.key(shard, "x", thread)).Result()
		if err != nil {
			return err
		}
		for _, name := range files {
			data, err := p.cmd.HGet(ctx, p.keys.key(shard, "x", thread), name).Bytes()
			if err != nil {
				return err
			}
			if !send(memory.Record{Kind: memory.RecordFile, Thread: thread, Key: name, Value: data}) {
				return nil
			}
		}
	}
	return err
}

// valueRecords lists strings with or without an end.
func (p *portable) valueRecords(ctx context.Context, shard int, send func(memory.Record) bool) error {
	for _, kind := range []string{"e", "c", "note"} {
		names, err := p.scan(ctx, shard, kind)
		if err != nil {
			return err
		}
		for _, name := range names {
			var value *redis.StringCmd
			var left *redis.DurationCmd
			_, err := p.cmd.Pipelined(ctx, func(c redis.Pipeliner) error {
				key := p.keys.key(shard, kind, name)
				value, left = c.Get(ctx, key), c.PTTL(ctx, key)
				return nil
			})
			if errors.Is(err, redis.Nil) {
				continue // its time was over
			}
			if err != nil {
				return err
			}
			if r, ok := valueRecord(kind, name, value.Val(), left.Val()); ok && !send(r) {
				return nil
			}
		}
	}
	return nil
}

func valueRecord(kind, name, value string, left time.Duration) (memory.Record, bool) {
	r := memory.Record{Key: name}
	if left > 0 {
		r.Until = time.Now().Add(left).UnixMilli()
	}
	switch kind {
	case "e":
		channel, _, _ := strings.Cut(name, " ")
		_, err := chat.ParseThreadID(channel)
		r.Kind = memory.RecordEvent
		return r, err == nil // others are calls of a process that is gone
	case "c":
		r.Kind = memory.RecordCounter
		r.N, _ = strconv.ParseUint(value, 10, 64)
	default:
		r.Kind, r.Value = memory.RecordNote, []byte(value)
	}
	return r, true
}

func (p *portable) hashRecords(ctx context.Context, shard int, send func(memory.Record) bool) error {
	for _, h := range [...]struct{ kind, key string }{{memory.RecordPerson, "people"}, {memory.RecordHead, "heads"}} {
		found, err := p.cmd.HGetAll(ctx, p.keys.own(shard, h.key)).Result()
		if err != nil {
			return err
		}
		for name, value := range found {
			if !send(memory.Record{Kind: h.kind, Key: name, Value: []byte(value)}) {
				return nil
			}
		}
	}
	return nil
}

// Restore implements [memory.Portable].
func (p *portable) Restore(ctx context.Context, records []memory.Record) error {
	first := uint64(0)
	for _, r := range records {
		err := p.restoreRecord(ctx, r, first)
		if r.Kind == memory.RecordThread {
			first = r.N
		}
		if err != nil {
			return fmt.Errorf("restore %s of %q: %w", r.Kind, r.Thread, err)
		}
	}
	return nil
}

func (p *portable) restoreRecord(ctx context.Context, r memory.Record, first uint64) error {
	if r.Thread != "" {
		thread, err := parseThread(r.Thread)
		if err != nil {
			return err
		}
		return p.restoreOf(ctx, thread, r, first)
	}
	left := time.Until(time.UnixMilli(r.Until))
	shard := shardOf("", r.Key)
	switch r.Kind {
	case memory.RecordEvent:
		channel, _, _ := strings.Cut(r.Key, " ")
		t, err := parseThread(channel)
		if err != nil || left <= 0 {
			return err
		}
		return p.cmd.Set(ctx, p.keys.key(shardOfThread(t), "e", r.Key), "copied", left).Err()
	case memory.RecordHead, memory.RecordAudit:
		return p.restoreAudit(ctx, r)
	case memory.RecordPerson:
		return p.cmd.HSet(ctx, p.keys.own(shardOf("people", r.Key), "people"), r.Key, r.Value).Err()
	case memory.RecordCounter:
		if left <= 0 {
			return nil
		}
		return p.cmd.Set(ctx, p.keys.key(shard, "c", r.Key), r.N, left).Err()
	case memory.RecordNote:
		return p.Note(ctx, r.Key, r.Value)
	case memory.RecordFloor:
		return nil // heads are random words here
	}
	return fmt.Errorf("this build does not know records of kind %q", r.Kind)
}

// restoreAudit finds the shard by the conversation behind a chain.
func (p *portable) restoreAudit(ctx context.Context, r memory.Record) (err error) {
	if p.names == nil {
		if p.names, err = memory.NamesOf(ctx, p.link); err != nil {
			return err
		}
	}
	chain, err := parseThread(r.Key)
	if err != nil {
		return err
	}
	thread := p.names.Thread(chain)
	shard := shardOfThread(thread)
	if r.Kind == memory.RecordAudit {
		values := []any{"line", r.Value}
		if len(r.Text) > 0 {
			values = append(values, "text", r.Text)
		}
		err := p.cmd.XAdd(ctx, &redis.XAddArgs{Stream: p.keys.own(shard, "audit"), ID: "0-" + strconv.FormatUint(r.N, 10), Values: values}).Err()
		if err != nil && strings.Contains(err.Error(), "equal or smaller") {
			return nil // it is there
		}
		return err
	}
	if err := p.cmd.HSet(ctx, p.keys.own(shard, "heads"), r.Key, r.Value).Err(); err != nil || chain == thread {
		return err
	}
	known, err := p.cmd.Exists(ctx, p.keys.key(shard, "t", thread.String())).Result()
	if err != nil || known == 0 {
		return err
	}
	return p.cmd.HSet(ctx, p.keys.key(shard, "t", thread.String()), "j", r.Key).Err()
}

// restoreOf restores a record of a thread.
func (p *portable) restoreOf(ctx context.Context, thread chat.ThreadID, r memory.Record, first uint64) error {
	shard := shardOfThread(thread)
	of := func(kind string) string { return p.keys.key(shard, kind, r.Thread) }
	entry := func() string {
		flag := plain
		if memory.Decode(r.Value).Kind() == (memory.Started{}).Kind() {
			flag = kept
		}
		return strconv.FormatInt(r.At, 10) + flag + string(r.Value)
	}
	_, err := p.cmd.Pipelined(ctx, func(c redis.Pipeliner) error {
		switch {
		case r.Kind == memory.RecordLog && r.N < first:
			c.RPush(ctx, of("k"), strconv.FormatUint(r.N, 10)+" "+entry())
		case r.Kind == memory.RecordLog:
			c.RPush(ctx, of("l"), entry())
		case r.Kind == memory.RecordInbox: // an earlier run may have acted on it
			c.RPush(ctx, of("i"), entry())
			c.HIncrBy(ctx, of("t"), "g", 1)
		case r.Kind == memory.RecordPending:
			c.HSet(ctx, of("p"), r.Key, r.Value)
			c.SAdd(ctx, p.keys.key(shard, "ask", thread.Platform), r.Thread)
			return nil
		default:
			return nil
		}
		own, elsewhere := r.Refs(thread)
		for _, ref := range own {
			c.Set(ctx, p.keys.key(shard, "m", ref.String()), r.Thread, 0)
			c.SAdd(ctx, of("r"), ref.String())
		}
		for _, ref := range elsewhere {
			c.Set(ctx, p.keys.key(shardOf(ref.Platform, ref.Channel), "f", ref.String()), r.Thread, memory.ReferTTL)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case r.Kind == memory.RecordThread:
		return p.restoreThread(ctx, shard, thread, r)
	case r.Kind == memory.RecordFile:
		fresh, err := p.cmd.HSetNX(ctx, of("x"), r.Key, r.Value).Result()
		if err != nil || !fresh {
			return err
		}
		return errors.Join(p.cmd.HIncrBy(ctx, of("t"), "z", int64(len(r.Value))).Err(),
			p.cmd.IncrBy(ctx, p.keys.own(shard, "bytes"), int64(len(r.Value))).Err())
	}
	return nil
}

// restoreThread makes a thread anew. The first sweep looks at it.
func (p *portable) restoreThread(ctx context.Context, shard int, thread chat.ThreadID, r memory.Record) error {
	var t memory.ThreadState
	if err := json.Unmarshal(r.Value, &t); err != nil {
		return err
	}
	of := func(kind string) string { return p.keys.key(shard, kind, r.Thread) }
	fields := map[string]any{"c": "copied " + p.words.next(), "n": t.Seq, "f": r.N, "b": t.Base, "w": t.WakeAt, "u": t.Touched, "s": ""}
	if t.Gone {
		fields = map[string]any{"c": "expired " + p.words.next(), "n": t.Seq, "f": t.Seq + 1}
	}
	if t.LastRef != "" {
		fields["m"], fields["d"] = t.LastRef, time.UnixMicro(t.LastSent).UTC().Format(time.RFC3339Nano)
	}
	if t.Woken > 0 {
		ready := &redis.XAddArgs{Stream: p.keys.key(shard, "q", thread.Platform), Values: []any{"t", r.Thread}}
		id, err := p.cmd.XAdd(ctx, ready).Result()
		if err != nil {
			return err
		}
		fields["s"], fields["q"], fields["r"] = "r", id, t.Woken
	}
	_, err := p.cmd.TxPipelined(ctx, func(c redis.Pipeliner) error {
		c.Del(ctx, of("t"), of("l"), of("i"), of("k"), of("p"), of("r"))
		c.HSet(ctx, of("t"), fields)
		if t.Gone {
			if p.keep > 0 {
				c.PExpire(ctx, of("t"), 10*p.keep)
			}
			return nil
		}
		c.ZAdd(ctx, p.keys.own(shard, "due"), redis.Z{Score: float64(max(t.WakeAt, t.Touched)), Member: r.Thread})
		c.ZAdd(ctx, p.keys.key(shard, "seen", thread.Platform), redis.Z{Score: float64(t.Touched), Member: r.Thread})
		return nil
	})
	return err
}
