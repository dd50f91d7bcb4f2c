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

// Audit implements [memory.Auditor]. It merges the lines of all shards by their time.
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

// writeTombstone adds a line to the chain of an erased thread. A script can't hash a
// line, so the shard keeps a list of erased threads until the next sweep writes the
// line. when is in milliseconds.
func (s *Store) writeTombstone(ctx context.Context, shard int, name, when string) error {
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
				parts = append(parts, &auditPart{l: l, shard: shard, thread: thread, after: "-"})
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
}

type auditLine struct {
	memory.KeptLine
	thread chat.ThreadID
	at     time.Time
}

// load reads on until there is a line; false at the end.
func (p *auditPart) load(ctx context.Context) (bool, error) {
	for len(p.lines) == 0 && p.after != "" {
		found, err := p.l.cmd.XRangeN(ctx, p.l.keys.own(p.shard, "audit"), p.after, "+", page).Result()
		if err != nil {
			return false, err
		}
		p.after = ""
		for _, m := range found {
			if l := readLine(m); p.thread == (chat.ThreadID{}) || p.thread == l.thread {
				p.lines = append(p.lines, l)
			}
		}
		if len(found) == page {
			p.after = "(" + found[page-1].ID
		}
	}
	return len(p.lines) > 0, nil
}

func readLine(m redis.XMessage) auditLine {
	text, _ := m.Values["line"].(string)
	kept := auditLine{KeptLine: memory.KeptLine{Raw: []byte(text)}}
	if l, err := memory.DecodeLine(kept.Raw); err == nil {
		kept.thread, kept.at = l.Thread, l.At
	}
	return kept
}
