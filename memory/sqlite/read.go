package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"nod/chat"
	"nod/memory"
)

// Read implements memory.Reader.
func (s *Store) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	const q = `SELECT seq, at, kind, body FROM (
		SELECT l.seq, l.at, l.kind, l.body, 0 AS part, l.seq AS place FROM log l JOIN thread t ON t.id = l.thread WHERE t.name = ?1
		UNION ALL
		SELECT 0, i.at, i.kind, i.body, 1, i.id FROM inbox i JOIN thread t ON t.id = i.thread WHERE t.name = ?1
	) ORDER BY part, place`
	rows, err := collect(ctx, s.db, q, []any{thread.String()}, func(r *sql.Rows) (e row, err error) {
		err = r.Scan(&e.seq, &e.at, &e.kind, &e.raw)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	return entries(rows)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, db *sql.DB, query string, args []any, scan func(*sql.Rows) (T, error)) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, rows.Err()
}

// sequence yields what was read, or the error.
func sequence[T any](items []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range items {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var zero T
			yield(zero, err)
		}
	}
}

// Audit implements memory.Auditor.
func (s *Store) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	query, args := "SELECT line FROM audit ORDER BY id", []any(nil)
	if thread != (chat.ThreadID{}) {
		query, args = "SELECT line FROM audit WHERE thread = ? ORDER BY id", []any{thread.String()}
	}
	return sequence(collect(ctx, s.db, query, args, func(r *sql.Rows) (l memory.AuditLine, err error) {
		var raw []byte
		if err := r.Scan(&raw); err != nil {
			return l, err
		}
		return l, json.Unmarshal(raw, &l)
	}))
}

// Pending implements memory.Catchup.
func (s *Store) Pending(ctx context.Context, platform string) iter.Seq2[memory.PendingApproval, error] {
	const q = `SELECT t.name, p.call, p.ref FROM pending p JOIN thread t ON t.id = p.thread WHERE t.platform = ? ORDER BY t.id, p.call`
	return sequence(collect(ctx, s.db, q, []any{platform}, func(r *sql.Rows) (p memory.PendingApproval, err error) {
		var name, ref string
		if err := r.Scan(&name, &p.Call, &ref); err != nil {
			return p, err
		}
		return p, errors.Join(p.Thread.UnmarshalText([]byte(name)), p.Ref.UnmarshalText([]byte(ref)))
	}))
}

// Watermarks implements memory.Catchup.
func (s *Store) Watermarks(ctx context.Context, platform string, since time.Time) iter.Seq2[memory.Watermark, error] {
	const q = `SELECT name, last_ref, last_sent FROM thread WHERE platform = ? AND touched >= ? AND last_ref <> '' ORDER BY touched`
	return sequence(collect(ctx, s.db, q, []any{platform, millis(since)}, func(r *sql.Rows) (m memory.Watermark, err error) {
		var name, ref string
		var sent int64
		if err := r.Scan(&name, &ref, &sent); err != nil {
			return m, err
		}
		m.Sent = time.UnixMicro(sent).UTC()
		return m, errors.Join(m.Thread.UnmarshalText([]byte(name)), m.Last.UnmarshalText([]byte(ref)))
	}))
}

// PutBlob implements memory.Blobs.
func (s *Store) PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (string, error) {
	if len(data) > memory.BlobCap {
		return "", fmt.Errorf("keep a file: it has %d bytes, and %d are the most", len(data), memory.BlobCap)
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	err := s.do(ctx, func(w *writer) error {
		id, err := w.thread(thread, s.now())
		if err != nil {
			return err
		}
		return w.run("INSERT OR IGNORE INTO blob (thread, name, data) VALUES (?, ?, ?)", id, name, data)
	})
	return name, err
}

// Blob implements memory.Blobs.
func (s *Store) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	var data []byte
	err := s.db.QueryRowContext(ctx, "SELECT b.data FROM blob b JOIN thread t ON t.id = b.thread WHERE t.name = ? AND b.name = ?",
		thread.String(), name).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, memory.ErrNoBlob
	}
	return data, err
}

// Count implements memory.Counters.
func (s *Store) Count(ctx context.Context, name string, n int64, ttl time.Duration) (int64, error) {
	now := s.now()
	var value int64
	err := s.do(ctx, func(w *writer) error {
		if n == 0 {
			_, err := w.one("SELECT value FROM counter WHERE name = ? AND until >= ?", []any{name, millis(now)}, &value)
			return err
		}
		_, err := w.one(`INSERT INTO counter (name, value, until) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET
			value = CASE WHEN until < ?4 THEN ?2 ELSE value + ?2 END,
			until = CASE WHEN until < ?4 THEN ?3 ELSE until END RETURNING value`,
			[]any{name, n, millis(now.Add(ttl)), millis(now)}, &value)
		return err
	})
	return value, err
}

// Read, Audit and Blob of a Viewer are those of the store.

// Read implements memory.Reader.
func (v *Viewer) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	return v.s.Read(ctx, thread)
}

// Audit implements memory.Auditor.
func (v *Viewer) Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error] {
	return v.s.Audit(ctx, thread)
}
