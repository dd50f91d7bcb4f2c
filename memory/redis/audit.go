package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"nod/chat"
	"nod/memory"
)

// Audit implements [memory.Auditor]. It merges the lines of all shards by their time.
func (l *link) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return memory.Resolved(ctx, l, thread, func(memory.Names) iter.Seq2[memory.KeptLine, error] { return l.Lines(ctx) })
}

// hide replaces the people of a change's audit lines by pseudonyms, once.
func (s *Store) hide(ctx context.Context, c *change) (err error) {
	if len(c.hidden) == len(c.audit) {
		return nil
	}
	keys := memory.Keys(func(id string) ([]byte, error) { return s.personKey(ctx, id) })
	c.hidden, err = keys.Hide(s.direct, c.audit...)
	return err
}

// personKey gives a person's key, and makes it if there is none: of several processes
// the first one. None caches it, so a destroyed key is used by no process.
func (s *Store) personKey(ctx context.Context, id string) (key []byte, err error) {
	shard := shardOf("people", id)
	people := s.keys.own(shard, "people")
	err = s.retry(ctx, shard, briefly, func() error {
		key, err = s.cmd.HGet(ctx, people, id).Bytes()
		if errors.Is(err, redis.Nil) {
			if err = s.cmd.HSetNX(ctx, people, id, memory.NewKey()).Err(); err == nil {
				key, err = s.cmd.HGet(ctx, people, id).Bytes()
			}
		}
		return err
	})
	return key, err
}

// Unname implements [memory.People].
func (s *Store) Unname(ctx context.Context, id string) error {
	shard := shardOf("people", id)
	err := s.retry(ctx, shard, briefly, func() error { return s.cmd.HDel(ctx, s.keys.own(shard, "people"), id).Err() })
	return memory.Doing("destroy the key of a pseudonym", err)
}

// merged reads a hash that exists once in each shard.
func (l *link) merged(ctx context.Context, kind string) (map[string]string, error) {
	all := map[string]string{}
	for shard := range shards {
		found, err := l.cmd.HGetAll(ctx, l.keys.own(shard, kind)).Result()
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// People implements [memory.Auditor].
func (l *link) People(ctx context.Context) (out []memory.Person, err error) {
	found, err := l.merged(ctx, "people")
	for id, key := range found {
		out = append(out, memory.Person{ID: id, Key: []byte(key)})
	}
	return out, err
}

// writeTombstone adds a line to the chain of an erased thread. A script can't hash a
// line, so the shard keeps a list of such chains until the next sweep writes the line.
// when is in milliseconds.
func (s *Store) writeTombstone(ctx context.Context, shard int, chain, when string) error {
	thread, err := parseThread(chain)
	if err != nil {
		return err
	}
	ms, err := strconv.ParseInt(when, 10, 64)
	if err != nil {
		return fmt.Errorf("read when a thread was erased: %w", err)
	}
	before, err := s.cmd.HGet(ctx, s.keys.own(shard, "heads"), chain).Result()
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
	_, err = s.run(ctx, entombScript, shard, chain, before, after.String(), string(line))
	return memory.Doing("write a tombstone", err)
}

// Heads implements [memory.Auditor].
func (l *link) Heads(ctx context.Context) (map[string]memory.Head, error) {
	found, err := l.merged(ctx, "heads")
	out := map[string]memory.Head{}
	for name, text := range found {
		if err == nil {
			out[name], err = memory.ParseHead(text)
		}
	}
	return out, memory.Doing("read the ends of the audit log", err)
}

// Lines implements [memory.Auditor]. It merges the shards by time.
func (l *link) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return func(yield func(memory.KeptLine, error) bool) {
		var parts []*auditPart
		for shard := range shards {
			next, stop := iter.Pull2(l.linesOf(ctx, shard, "-"))
			defer stop()
			parts = append(parts, &auditPart{next: next})
			parts[shard].advance()
		}
		for {
			parts = slices.DeleteFunc(parts, func(p *auditPart) bool { return !p.ok })
			if len(parts) == 0 {
				return
			}
			first := slices.MinFunc(parts, func(a, b *auditPart) int { return a.line.at.Compare(b.line.at) })
			if !yield(first.line.KeptLine, memory.Doing("read audit log", first.err)) || first.err != nil {
				return
			}
			first.advance()
		}
	}
}

// auditPart is a shard's part of the audit log, at a line. An error stands before all
// lines.
type auditPart struct {
	next func() (auditLine, error, bool)
	line auditLine
	err  error
	ok   bool
}

func (p *auditPart) advance() { p.line, p.err, p.ok = p.next() }

type auditLine struct {
	memory.KeptLine
	at time.Time
}

// linesOf reads the audit lines of a shard from an id on, some at a time.
func (l *link) linesOf(ctx context.Context, shard int, from string) iter.Seq2[auditLine, error] {
	return func(yield func(auditLine, error) bool) {
		for from != "" {
			found, err := l.cmd.XRangeN(ctx, l.keys.own(shard, "audit"), from, "+", page).Result()
			if err != nil {
				yield(auditLine{}, err)
				return
			}
			from = ""
			if len(found) == page {
				from = "(" + found[page-1].ID
			}
			for _, m := range found {
				if !yield(readLine(m), nil) {
					return
				}
			}
		}
	}
}

// Newer implements [memory.Auditor]. A mark is one of each shard.
func (l *link) Newer(ctx context.Context, mark string, each func(memory.KeptLine)) (end string, older bool, err error) {
	marks := strings.Split(mark, ",")
	marks = append(marks, make([]string, max(0, shards-len(marks)))...)
	for shard := range shards {
		older = marks[shard] != ""
		for line, err := range l.linesOf(ctx, shard, cmp.Or(memory.MarkedID(marks[shard]), "-")) {
			switch {
			case err != nil:
				return mark, false, fmt.Errorf("read the audit log: %w", err)
			case !older:
				each(line.KeptLine)
			case line.Mark() != marks[shard]:
				return mark, true, nil
			}
			marks[shard], older = line.Mark(), false
		}
		if older {
			return mark, true, nil
		}
	}
	return joinMarks(marks), false, nil
}

// Mark implements [memory.Auditor].
func (l *link) Mark(ctx context.Context) (string, error) {
	marks := make([]string, shards)
	for shard := range marks {
		found, err := l.cmd.XRevRangeN(ctx, l.keys.own(shard, "audit"), "+", "-", 1).Result()
		if err != nil {
			return "", fmt.Errorf("read the audit log: %w", err)
		}
		if len(found) > 0 {
			marks[shard] = readLine(found[0]).Mark()
		}
	}
	return joinMarks(marks), nil
}

// joinMarks gives the empty mark if no shard has one.
func joinMarks(marks []string) string {
	all := strings.Join(marks, ",")
	if strings.Trim(all, ",") == "" {
		return ""
	}
	return all
}

func readLine(m redis.XMessage) auditLine {
	line, _ := m.Values["line"].(string)
	text, _ := m.Values["text"].(string)
	kept := auditLine{KeptLine: memory.KeptLine{ID: m.ID, Raw: []byte(line), Text: []byte(text)}}
	if l, err := memory.DecodeLine(kept.Raw); err == nil {
		kept.at = l.At
	}
	return kept
}
