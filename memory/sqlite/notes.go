package sqlite

import (
	"bytes"
	"context"

	"nod/memory"
)

// Note implements memory.Notes.
func (s *Store) Note(ctx context.Context, name string, value []byte) error {
	return s.do(ctx, "note "+name, func(w *writer) { w.note(name, value) })
}

// Swap implements memory.Notes.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) (done bool, err error) {
	err = s.do(ctx, "note "+name, func(w *writer) {
		var noted []byte
		w.queryRow("SELECT value FROM note WHERE name = ?", []any{name}, &noted)
		same, stands := bytes.Equal(noted, value), bytes.Equal(noted, old)
		if done = same || stands; stands && !same {
			w.note(name, value)
		}
	}, func() {
		if done && len(value) < len(old) { // something of it was erased
			s.purge.request()
		}
	})
	return done && err == nil, err
}

func (w *writer) note(name string, value []byte) {
	if len(value) == 0 {
		w.exec("DELETE FROM note WHERE name = ?", name)
		return
	}
	w.exec("INSERT INTO note (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", name, value)
}

// Noted implements memory.Notes.
func (r *reader) Noted(ctx context.Context, name string) (value []byte, err error) {
	_, err = r.readRow(ctx, "SELECT value FROM note WHERE name = ?", []any{name}, &value)
	return value, memory.Doing("read note "+name, err)
}
