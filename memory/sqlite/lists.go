package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"time"

	"nod/memory"
)

// pageSize is the number of rows that one query of a long list reads. A slow reader
// holds no statement open.
const pageSize = 500

// pages yields the rows of a query whose last argument is the id to start after. It
// yields an unreadable row as an error and goes on.
func pages[T any](ctx context.Context, r *reader, query string, args []any, scan func(*sql.Rows) (int64, T, error)) iter.Seq2[T, error] {
	type line struct {
		id    int64
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		after := int64(0)
		for {
			from := append(args[:len(args):len(args)], after)
			lines, err := readAll(ctx, r, fmt.Sprintf("%s LIMIT %d", query, pageSize), from, func(r *sql.Rows) (l line, err error) {
				l.id, l.value, l.err = scan(r)
				if l.id == 0 {
					return l, l.err
				}
				return l, nil
			})
			for _, l := range lines {
				if !yield(l.value, l.err) {
					return
				}
				after = l.id
			}
			if err != nil {
				var zero T
				yield(zero, err)
			}
			if err != nil || len(lines) < pageSize {
				return
			}
		}
	}
}

// Pending implements memory.Catchup.
func (s *Store) Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error] {
	const q = `SELECT t.name, p.call, p.ref, t.wake_at FROM pending p JOIN thread t ON t.id = p.thread WHERE t.platform = ? ORDER BY t.id, p.call`
	return sound(s, ctx, q, []any{platform}, func(r *sql.Rows, p *memory.PendingApproval) error {
		var name, ref string
		var due int64
		if err := r.Scan(&name, &p.Call, &ref, &due); err != nil {
			return err
		}
		p.Due = fromMillis(due)
		return errors.Join(p.Thread.UnmarshalText([]byte(name)), p.Ref.UnmarshalText([]byte(ref)))
	})
}

// Watermarks implements memory.Catchup.
func (s *Store) Watermarks(ctx context.Context, platform string, since time.Time, most int) iter.Seq2[memory.Watermark, error] {
	const q = `SELECT name, last_ref, last_sent FROM thread WHERE gone = 0 AND touched >= ? AND platform = ? AND last_ref <> ''
		ORDER BY touched DESC LIMIT CASE ?3 WHEN 0 THEN -1 ELSE ?3 END`
	return sound(s, ctx, q, []any{millis(since) - 1000, platform, most}, func(r *sql.Rows, m *memory.Watermark) error {
		var name, ref string
		var sent int64
		if err := r.Scan(&name, &ref, &sent); err != nil {
			return err
		}
		m.Sent = time.UnixMicro(sent).UTC()
		return errors.Join(m.Thread.UnmarshalText([]byte(name)), m.Last.UnmarshalText([]byte(ref)))
	})
}

// sound yields the rows of a query. It logs an unreadable row and leaves it out, since
// it concerns one thread.
func sound[T any](s *Store, ctx context.Context, query string, args []any, scan func(*sql.Rows, *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		found, err := readAll(ctx, &s.reader, query, args, func(r *sql.Rows) (*T, error) {
			v := new(T)
			if err := scan(r, v); err != nil {
				s.log.Warn("row of the store is unreadable", "error", err)
				return nil, nil //nolint:nilnil // left out below
			}
			return v, nil
		})
		for _, v := range found {
			if v != nil && !yield(*v, nil) {
				return
			}
		}
		if err != nil {
			yield(zero, err)
		}
	}
}

// Count implements memory.Counters.
func (s *Store) Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error) {
	now := s.now()
	var value int64
	if n == 0 {
		_, err := s.readRow(ctx, "SELECT value FROM counter WHERE name = ? AND until >= ?", []any{name, millis(now)}, &value)
		return value, memory.Doing("read counter", err)
	}
	err := s.do(ctx, "count", func(w *writer) {
		w.queryRow(`INSERT INTO counter (name, value, until) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET
			value = CASE WHEN until < ?4 THEN ?2 ELSE value + ?2 END,
			until = CASE WHEN until < ?4 THEN ?3 ELSE until END RETURNING value`,
			[]any{name, n, millis(now.Add(ttl)), millis(now)}, &value)
	})
	return value, err
}
