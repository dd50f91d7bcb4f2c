package sqlite

import (
	"bytes"
	"context"
	"fmt"
)

// Note implements memory.Notes.
func (s *Store) Note(ctx context.Context, name string, value []byte) error {
	err := s.do(ctx, func(w *writer) error { return w.note(name, value) })
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

// Swap implements memory.Notes.
func (s *Store) Swap(ctx context.Context, name string, old, value []byte) (done bool, err error) {
	err = s.submit(ctx, &op{do: func(w *writer) error {
		var noted []byte
		if _, err := w.queryRow("SELECT value FROM note WHERE name = ?", []any{name}, &noted); err != nil {
			return err
		}
		same, stands := bytes.Equal(noted, value), bytes.Equal(noted, old)
		if done = same || stands; same || !stands {
			return nil
		}
		return w.note(name, value)
	}, after: func() {
		if done && len(value) < len(old) { // something of it was erased
			s.purge.request()
		}
	}})
	if err != nil {
		return false, fmt.Errorf("note %s: %w", name, err)
	}
	return done, nil
}

func (w *writer) note(name string, value []byte) error {
	if len(value) == 0 {
		return w.exec("DELETE FROM note WHERE name = ?", name)
	}
	return w.exec("INSERT INTO note (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", name, value)
}

// Noted implements memory.Notes.
func (r *reader) Noted(ctx context.Context, name string) (value []byte, err error) {
	if _, err = r.readRow(ctx, "SELECT value FROM note WHERE name = ?", []any{name}, &value); err != nil {
		return nil, fmt.Errorf("read note %s: %w", name, err)
	}
	return value, nil
}
