package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"nod/chat"
	"nod/memory"
)

// PutBlob implements memory.Blobs.
func (s *Store) PutBlob(ctx context.Context, thread chat.ThreadID, data []byte) (string, error) {
	if len(data) > memory.BlobCap {
		return "", fmt.Errorf("keep file: it has %d bytes, and %d are the most", len(data), memory.BlobCap)
	}
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	if data == nil {
		data = []byte{}
	}
	at := millis(s.now())
	err := s.do(ctx, func(w *writer) error {
		var id int64
		if _, err := w.queryRow(touchThread, []any{thread.String(), thread.Platform, at, 0, "", 0}, &id); err != nil {
			return err
		}
		var one int
		if known, err := w.queryRow("SELECT 1 FROM blob WHERE thread = ? AND name = ?", []any{id, name}, &one); known || err != nil {
			return err
		}
		if err := w.fits(id, int64(len(data)), s.quota); err != nil {
			return err
		}
		content, err := w.insert("INSERT INTO content (data) VALUES (?)", data)
		if err != nil {
			return err
		}
		return w.exec("INSERT INTO blob (thread, name, size, content) VALUES (?, ?, ?, ?)", id, name, len(data), content)
	})
	if err != nil {
		return "", fmt.Errorf("keep file: %w", err)
	}
	return name, nil
}

// fits returns an error if the thread may not keep so many bytes more.
func (w *writer) fits(thread, size int64, q memory.Quota) error {
	var kept int64
	if q.Thread > 0 {
		if _, err := w.queryRow("SELECT coalesce(sum(size), 0) FROM blob WHERE thread = ?", []any{thread}, &kept); err != nil {
			return err
		}
		if kept+size > q.Thread {
			return memory.FullError{Most: q.Thread}
		}
	}
	if q.All > 0 {
		if _, err := w.queryRow("SELECT value FROM number WHERE name = 'bytes'", nil, &kept); err != nil {
			return err
		}
		if kept+size > q.All {
			return memory.FullError{Most: q.All, All: true}
		}
	}
	return nil
}

// Blob implements memory.Blobs.
func (r *reader) Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error) {
	var data []byte
	found, err := r.readRow(ctx, `SELECT c.data FROM thread t JOIN blob b ON b.thread = t.id
		JOIN content c ON c.id = b.content WHERE t.name = ? AND b.name = ?`, []any{thread.String(), name}, &data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch file: %w", err)
	case !found:
		return nil, memory.ErrNoBlob
	}
	return data, nil
}

// DropBlob implements memory.Blobs.
func (s *Store) DropBlob(ctx context.Context, thread chat.ThreadID, name string) error {
	var dropped int64
	err := s.submit(ctx, &op{do: func(w *writer) (err error) {
		dropped, err = w.execCount("DELETE FROM blob WHERE thread = (SELECT id FROM thread WHERE name = ?) AND name = ?", thread.String(), name)
		return err
	}, after: func() {
		if dropped > 0 {
			s.clean()
		}
	}})
	if err != nil {
		return fmt.Errorf("drop file: %w", err)
	}
	return nil
}
