package redis

import (
	"context"
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

// scanned is a name of a kind of keys in a shard. key names the keys of other kinds.
type scanned struct {
	kind, name string
	key        func(kind string) string
}

// reader reads a part of a shard. Once nobody wants more, its context ends.
type reader func(ctx context.Context, shard int, send func(memory.Record)) error

// each reads all names of a kind of keys.
func (p *portable) each(kind string, read func(context.Context, scanned, func(memory.Record)) error) reader {
	return func(ctx context.Context, shard int, send func(memory.Record)) error {
		c, err := p.master(ctx, shard)
		if err != nil {
			return err
		}
		var names []string
		prefix := p.keys.key(shard, kind, "")
		found := c.Scan(ctx, 0, prefix+"*", page).Iterator()
		for found.Next(ctx) {
			names = append(names, strings.TrimPrefix(found.Val(), prefix))
		}
		slices.Sort(names)
		err = found.Err()
		for _, name := range slices.Compact(names) {
			if err == nil {
				err = read(ctx, scanned{kind, name, func(kind string) string { return p.keys.key(shard, kind, name) }}, send)
			}
		}
		return err
	}
}

// Records implements [memory.Portable].
func (p *portable) Records(ctx context.Context) iter.Seq2[memory.Record, error] {
	parts := []reader{
		p.each("t", p.threadRecords), p.each("x", p.fileRecords),
		p.each("e", p.valueRecord), p.each("c", p.valueRecord), p.each("note", p.valueRecord),
		p.hash("people", memory.RecordPerson), p.hash("heads", memory.RecordHead),
	}
	return func(yield func(memory.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stopped := false
		send := func(r memory.Record) {
			if stopped = stopped || !yield(r, nil); stopped {
				cancel()
			}
		}
		var err error
		for _, part := range parts {
			for shard := range shards {
				if err == nil && !stopped {
					err = part(ctx, shard, send)
				}
			}
		}
		if err == nil && !stopped {
			err = p.auditRecords(ctx, send)
		}
		if err != nil && !stopped {
			yield(memory.Record{}, fmt.Errorf("read records: %w", err))
		}
	}
}

func (p *portable) auditRecords(ctx context.Context, send func(memory.Record)) error {
	n := uint64(0)
	for k, err := range p.Lines(ctx) {
		n++
		var l memory.AuditLine
		if err == nil {
			l, err = memory.DecodeLine(k.Raw)
		}
		if err != nil {
			return err
		}
		send(memory.Record{Kind: memory.RecordAudit, Key: l.Thread.String(), N: n, Value: k.Raw, Text: k.Text})
	}
	return nil
}

func (p *portable) threadRecords(ctx context.Context, at scanned, send func(memory.Record)) error {
	var thread, pending *redis.MapStringStringCmd
	var kept, log, inbox *redis.StringSliceCmd
	_, err := p.cmd.Pipelined(ctx, func(c redis.Pipeliner) error {
		thread, pending = c.HGetAll(ctx, at.key("t")), c.HGetAll(ctx, at.key("p"))
		kept, log, inbox = c.LRange(ctx, at.key("k"), 0, -1), c.LRange(ctx, at.key("l"), 0, -1), c.LRange(ctx, at.key("i"), 0, -1)
		return nil
	})
	if err != nil {
		return err
	}
	t, first, err := stateOf(thread.Val())
	if err != nil {
		return fmt.Errorf("thread %s: %w", at.name, err)
	}
	if t.Gone {
		t = memory.ThreadState{Seq: t.Seq, Gone: true}
	} else {
		for _, raw := range kept.Val() {
			number, rest, _ := strings.Cut(raw, " ")
			seq, _ := strconv.ParseUint(number, 10, 64)
			t.Log = append(t.Log, storedEntry(seq, rest))
		}
		for i, raw := range log.Val() {
			t.Log = append(t.Log, storedEntry(first+uint64(i), raw))
		}
		for i, raw := range inbox.Val() {
			t.Inbox = append(t.Inbox, storedEntry(uint64(i)+1, raw))
		}
		t.Pending = pending.Val()
	}
	send(memory.Record{Kind: memory.RecordThread, Thread: at.name, State: &t})
	return nil
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

func storedEntry(n uint64, raw string) memory.StoredEntry {
	e := memory.StoredEntry{N: n, Raw: []byte(raw)}
	if i := strings.IndexAny(raw, plain+kept); i >= 0 {
		e.At, _ = strconv.ParseInt(raw[:i], 10, 64)
		e.Raw = []byte(raw[i+1:])
	}
	return e
}

func (p *portable) fileRecords(ctx context.Context, at scanned, send func(memory.Record)) error {
	files, err := p.cmd.HKeys(ctx, at.key("x")).Result()
	for _, name := range files {
		data, err := p.cmd.HGet(ctx, at.key("x"), name).Bytes()
		if err != nil {
			return err
		}
		send(memory.Record{Kind: memory.RecordFile, Thread: at.name, Key: name, Value: data})
	}
	return err
}

// valueRecord reads a string with or without an end.
func (p *portable) valueRecord(ctx context.Context, at scanned, send func(memory.Record)) error {
	var value *redis.StringCmd
	var left *redis.DurationCmd
	_, err := p.cmd.Pipelined(ctx, func(c redis.Pipeliner) error {
		value, left = c.Get(ctx, at.key(at.kind)), c.PTTL(ctx, at.key(at.kind))
		return nil
	})
	if errors.Is(err, redis.Nil) {
		return nil // its time was over
	}
	r := memory.Record{Key: at.name}
	if left.Val() > 0 {
		r.Until = time.Now().Add(left.Val()).UnixMilli()
	}
	switch at.kind {
	case "e":
		channel, _, _ := strings.Cut(at.name, " ")
		if _, bad := chat.ParseThreadID(channel); bad != nil {
			return err // it is a call of a process that is gone
		}
		r.Kind = memory.RecordEvent
	case "c":
		r.Kind = memory.RecordCounter
		r.N, _ = strconv.ParseUint(value.Val(), 10, 64)
	default:
		r.Kind, r.Value = memory.RecordNote, []byte(value.Val())
	}
	if err == nil {
		send(r)
	}
	return err
}

// hash reads a hash that exists once in a shard.
func (p *portable) hash(key, kind string) reader {
	return func(ctx context.Context, shard int, send func(memory.Record)) error {
		found, err := p.cmd.HGetAll(ctx, p.keys.own(shard, key)).Result()
		for name, value := range found {
			send(memory.Record{Kind: kind, Key: name, Value: []byte(value)})
		}
		return err
	}
}

// Restore implements [memory.Portable].
func (p *portable) Restore(ctx context.Context, records []memory.Record) error {
	for _, r := range records {
		if err := p.restoreRecord(ctx, r); err != nil {
			return fmt.Errorf("restore %s of %q: %w", r.Kind, r.Thread, err)
		}
	}
	return nil
}

func (p *portable) restoreRecord(ctx context.Context, r memory.Record) (err error) {
	var thread chat.ThreadID
	shard := shardOf("", r.Key)
	if r.Thread != "" {
		if thread, err = parseThread(r.Thread); err != nil {
			return err
		}
		shard = shardOfThread(thread)
	}
	of := func(kind string) string { return p.keys.key(shard, kind, r.Thread) }
	left := time.Until(time.UnixMilli(r.Until))
	switch r.Kind {
	case memory.RecordThread:
		return p.restoreThread(ctx, shard, thread, r.State)
	case memory.RecordFile:
		fresh, err := p.cmd.HSetNX(ctx, of("x"), r.Key, r.Value).Result()
		if err != nil || !fresh {
			return err
		}
		return errors.Join(p.cmd.HIncrBy(ctx, of("t"), "z", int64(len(r.Value))).Err(),
			p.cmd.IncrBy(ctx, p.keys.own(shard, "bytes"), int64(len(r.Value))).Err())
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

// restoreThread makes a thread anew. The first sweep looks at it.
func (p *portable) restoreThread(ctx context.Context, shard int, thread chat.ThreadID, t *memory.ThreadState) error {
	name := thread.String()
	of := func(kind string) string { return p.keys.key(shard, kind, name) }
	// An earlier run may have acted on the inbox.
	fields := map[string]any{
		"c": "copied " + p.words.next(), "n": t.Seq, "f": t.First(), "b": t.Base, "w": t.WakeAt, "u": t.Touched, "s": "", "g": len(t.Inbox),
	}
	if t.Gone {
		fields = map[string]any{"c": "expired " + p.words.next(), "n": t.Seq, "f": t.Seq + 1}
	}
	if t.LastRef != "" {
		fields["m"], fields["d"] = t.LastRef, time.UnixMicro(t.LastSent).UTC().Format(time.RFC3339Nano)
	}
	if t.Woken > 0 {
		ready := &redis.XAddArgs{Stream: p.keys.key(shard, "q", thread.Platform), Values: []any{"t", name}}
		id, err := p.cmd.XAdd(ctx, ready).Result()
		if err != nil {
			return err
		}
		fields["s"], fields["q"], fields["r"] = "r", id, t.Woken
	}
	effects := t.Effects(thread)
	_, err := p.cmd.TxPipelined(ctx, func(c redis.Pipeliner) error {
		c.Del(ctx, of("t"), of("l"), of("i"), of("k"), of("p"), of("r"))
		c.HSet(ctx, of("t"), fields)
		if t.Gone {
			if p.keep > 0 {
				c.PExpire(ctx, of("t"), 10*p.keep)
			}
			return nil
		}
		c.ZAdd(ctx, p.keys.own(shard, "due"), redis.Z{Score: float64(max(t.WakeAt, t.Touched)), Member: name})
		c.ZAdd(ctx, p.keys.key(shard, "seen", thread.Platform), redis.Z{Score: float64(t.Touched), Member: name})
		for call, ref := range t.Pending {
			c.HSet(ctx, of("p"), call, ref)
			c.SAdd(ctx, p.keys.key(shard, "ask", thread.Platform), name)
		}
		for _, ref := range effects.Refs {
			c.Set(ctx, p.keys.key(shard, "m", ref.String()), name, 0)
			c.SAdd(ctx, of("r"), ref.String())
		}
		restoreEntries(ctx, c, of, t)
		return nil
	})
	for _, ref := range effects.Elsewhere {
		err = errors.Join(err, p.cmd.Set(ctx, p.keys.key(shardOf(ref.Platform, ref.Channel), "f", ref.String()), name, memory.ReferTTL).Err())
	}
	return err
}

func restoreEntries(ctx context.Context, c redis.Pipeliner, of func(kind string) string, t *memory.ThreadState) {
	first := t.First()
	for _, e := range t.Log {
		if e.N < first {
			c.RPush(ctx, of("k"), strconv.FormatUint(e.N, 10)+" "+inServer(e))
		} else {
			c.RPush(ctx, of("l"), inServer(e))
		}
	}
	for _, e := range t.Inbox {
		c.RPush(ctx, of("i"), inServer(e))
	}
}

// inServer is an entry as the server has it.
func inServer(e memory.StoredEntry) string {
	return strconv.FormatInt(e.At, 10) + flagOf(memory.Decode(e.Raw)) + string(e.Raw)
}
