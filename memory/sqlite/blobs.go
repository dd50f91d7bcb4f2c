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
	return name, s.do(ctx, "keep file", func(w *writer) {
		var id int64
		w.queryRow(touchThread, []any{thread.String(), thread.Platform, at, 0, "", 0}, &id)
		if !w.hasFile(id, name) {
			w.fits(id, int64(len(data)), s.quota)
			w.keepFile(id, name, data)
		}
	})
}

func (w *writer) hasFile(thread int64, name string) bool {
	var one int
	return w.queryRow("SELECT 1 FROM blob WHERE thread = ? AND name = ?", []any{thread, name}, &one)
}

func (w *writer) keepFile(thread int64, name string, data []byte) {
	content := w.insert("INSERT INTO content (data) VALUES (?)", data)
	w.exec("INSERT INTO blob (thread, name, size, content) VALUES (?, ?, ?, ?)", thread, name, len(data), content)
}

// fits fails if the thread may not keep so many bytes more.
func (w *writer) fits(thread, size int64, q memory.Quota) {
	for _, limit := range [...]struct {
		most  int64
		query string
		args  []any
		all   bool
	}{
		{q.Thread, "SELECT coalesce(sum(size), 0) FROM blob WHERE thread = ?", []any{thread}, false},
		{q.All, "SELECT value FROM number WHERE name = 'bytes'", nil, true},
	} {
		var have int64
		if limit.most > 0 && w.queryRow(limit.query, limit.args, &have) && have+size > limit.most {
			w.fail(memory.FullError{Most: limit.most, All: limit.all})
		}
	}
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
	return s.do(ctx, "drop file", func(w *writer) {
		dropped = w.exec("DELETE FROM blob WHERE thread = (SELECT id FROM thread WHERE name = ?) AND name = ?", thread.String(), name)
	}, func() {
		if dropped > 0 {
			s.clean()
		}
	})
}
