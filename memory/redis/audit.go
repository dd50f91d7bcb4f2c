package redis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// chained is the first format whose audit log is a chain for each thread.
const chained = 3

// Audit implements [memory.Auditor]. Lines of different channels lie in
// different shards, and are put in order by their time.
func (l *link) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return func(yield func(memory.AuditLine, error) bool) {
		for k, err := range l.merged(ctx, thread) {
			var line memory.AuditLine
			if err == nil {
				line, err = memory.DecodeLine(k.Raw)
			}
			if err != nil {
				err = fmt.Errorf("read audit log: %w", err)
			}
			if !yield(line, err) {
				return
			}
		}
	}
}

// entomb says in the chain of a thread that it was erased, at some time in
// milliseconds. A script can't hash a line, so the thread is on a list from when it
// was erased until that is said: whoever sweeps the shard next says it.
func (s *Store) entomb(ctx context.Context, shard int, name, when string) error {
	thread, err := parseThread(name)
	if err != nil {
		return err
	}
	ms, err := strconv.ParseInt(when, 10, 64)
	if err != nil {
		return fmt.Errorf("read when a thread was erased: %w", err)
	}
	before, err := s.cmd.HGet(ctx, s.keys.own(shard, "heads"), name).Result()
	if err != nil {
		return fmt.Errorf("read the end of a chain: %w", err)
	}
	head, err := memory.ParseHead(before)
	if err != nil {
		return err
	}
	line, after, err := head.Link(memory.Tombstone(thread, timeOf(ms)))
	if err != nil {
		return err
	}
	if _, err := s.run(ctx, entombScript, shard, name, before, after.String(), string(line)); err != nil {
		return fmt.Errorf("write a tombstone: %w", err)
	}
	return nil
}

// Lines implements [memory.Auditor].
func (l *link) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return l.merged(ctx, chat.ThreadID{})
}

// Heads implements [memory.Auditor].
func (l *link) Heads(ctx context.Context) (map[chat.ThreadID]memory.Head, error) {
	if have, err := l.oldest(ctx); err != nil {
		return nil, err
	} else if have < chained {
		return nil, errors.New("the audit log of this store is of a former format: it becomes a chain when the service starts")
	}
	out := map[chat.ThreadID]memory.Head{}
	for shard := range shards {
		found, err := l.cmd.HGetAll(ctx, l.keys.own(shard, "heads")).Result()
		if err != nil {
			return nil, fmt.Errorf("read the ends of the audit log: %w", err)
		}
		for name, text := range found {
			thread, err := parseThread(name)
			if err != nil {
				return nil, err
			}
			if out[thread], err = memory.ParseHead(text); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// merged lists the lines of all shards, or of one thread, by their time.
func (l *link) merged(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.KeptLine, error] {
	return func(yield func(memory.KeptLine, error) bool) {
		var parts []*auditPart
		for shard := range shards {
			if thread == (chat.ThreadID{}) || shard == shardOfThread(thread) {
				parts = append(parts, &auditPart{l: l, shard: shard, thread: thread, after: "-", heads: map[string]memory.Head{}})
			}
		}
		for {
			var first *auditPart
			for _, p := range parts {
				ok, err := p.load(ctx)
				if err != nil {
					yield(memory.KeptLine{}, fmt.Errorf("read audit log: %w", err))
					return
				}
				if ok && (first == nil || p.lines[0].at.Before(first.lines[0].at)) {
					first = p
				}
			}
			if first == nil || !yield(first.lines[0].KeptLine, nil) {
				return
			}
			first.lines = first.lines[1:]
		}
	}
}

// auditPart reads the audit lines of one shard, some at a time.
type auditPart struct {
	l      *link
	shard  int
	thread chat.ThreadID // zero: of all
	after  string        // where to read on; empty at the end
	lines  []auditLine
	heads  map[string]memory.Head // of what a former format has
}

type auditLine struct {
	memory.KeptLine
	thread chat.ThreadID
	at     time.Time
}

// load sees to it that there is a line, unless there are no more.
func (p *auditPart) load(ctx context.Context) (bool, error) {
	for len(p.lines) == 0 && p.after != "" {
		found, err := p.l.cmd.XRangeN(ctx, p.l.keys.own(p.shard, "audit"), p.after, "+", page).Result()
		if err != nil {
			return false, err
		}
		p.after = ""
		for _, m := range found {
			if l := readLine(m, p.heads); p.thread == (chat.ThreadID{}) || p.thread == l.thread {
				p.lines = append(p.lines, l)
			}
		}
		if len(found) == page {
			p.after = "(" + found[page-1].ID
		}
	}
	return len(p.lines) > 0, nil
}

// readLine reads a line. One of a former format is given as it will be once the
// store is brought up to date; these have their time beside them.
func readLine(m redis.XMessage, heads map[string]memory.Head) auditLine {
	text, _ := m.Values["line"].(string)
	kept := auditLine{KeptLine: memory.KeptLine{Raw: []byte(text)}}
	if at, former := m.Values["at"].(string); former {
		kept.Raw = linkFormer(text, at, heads)
	}
	l, err := memory.DecodeLine(kept.Raw)
	if err == nil {
		kept.thread, kept.at = l.Thread, l.At
	}
	return kept
}

// linkFormer makes a line of a former format part of a chain. One that can't be
// read leaves a line that says so, as far as its thread can be told.
func linkFormer(text, at string, heads map[string]memory.Head) []byte {
	ms, _ := strconv.ParseInt(at, 10, 64)
	var of struct {
		Thread chat.ThreadID `json:"thread"`
	}
	_ = json.Unmarshal([]byte(text), &of)
	thread := of.Thread.String()
	raw, next, err := heads[thread].LinkFormer([]byte(text), timeOf(ms))
	if err != nil {
		raw, next, _ = heads[thread].Link(memory.AuditLine{
			Thread: of.Thread, At: timeOf(ms), Event: "lost", Reason: "a line of a former format could not be read",
		})
	}
	heads[thread] = next
	return raw
}

// chainAudit leads to format 3: the lines of the audit log are written anew, as
// chains. What comes of a line is always the same, so several processes may do it
// at once, and each goes on where another one was cut off.
func chainAudit(ctx context.Context, l *link, these []int) error {
	for _, shard := range these {
		for done := false; !done; {
			args, err := l.chainShard(ctx, shard)
			if err != nil {
				return fmt.Errorf("chain the audit log: %w", err)
			}
			out, err := l.run(ctx, chainScript, shard, args...)
			if err != nil {
				return fmt.Errorf("chain the audit log: %w", err)
			}
			done = out == int64(1)
		}
	}
	return nil
}

// chainShard writes the lines of a shard anew, beside the old ones, and gives the
// id of the last one and the ends of the chains.
func (l *link) chainShard(ctx context.Context, shard int) ([]any, error) {
	heads, last := map[string]memory.Head{}, ""
	for after := "-"; after != ""; {
		found, err := l.cmd.XRangeN(ctx, l.keys.own(shard, "audit"), after, "+", page).Result()
		if err != nil {
			return nil, err
		}
		after = ""
		for _, m := range found {
			if _, former := m.Values["at"]; !former { // another process was quicker
				return []any{""}, nil
			}
			last = m.ID
			add := redis.XAddArgs{Stream: l.keys.own(shard, "chained"), ID: m.ID, Values: []any{"line", string(readLine(m, heads).Raw)}}
			if err := l.cmd.XAdd(ctx, &add).Err(); err != nil && !strings.Contains(err.Error(), "equal or smaller") {
				return nil, err
			}
		}
		if len(found) == page {
			after = "(" + last
		}
	}
	args := []any{last}
	for thread, head := range heads {
		args = append(args, thread, head.String())
	}
	return args, nil
}
