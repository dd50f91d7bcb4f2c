package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Note implements memory.Notes.
func (s *Store) Note(ctx context.Context, name string, value []byte) error {
	err := s.do(ctx, func(w *writer) error {
		if len(value) == 0 {
			return w.run("DELETE FROM note WHERE name = ?", name)
		}
		return w.run("INSERT INTO note (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2", name, value)
	})
	if err != nil {
		return fmt.Errorf("note %s: %w", name, err)
	}
	return nil
}

// Noted implements memory.Notes.
func (r *reader) Noted(ctx context.Context, name string) (value []byte, err error) {
	if r.format == 1 {
		return nil, nil
	}
	err = r.db.QueryRowContext(ctx, "SELECT value FROM note WHERE name = ?", name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("read note %s: %w", name, err)
	}
	return value, nil
}
