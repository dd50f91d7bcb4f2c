package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Rest gives back the memory in which pages of the file are kept, for a program that
// has nothing to do: what is needed again comes from the system's cache.
func (s *Store) Rest(ctx context.Context) error {
	s.pen.Lock()
	err := shrink(ctx, s.w.conn)
	s.pen.Unlock()
	return errors.Join(err, s.reader.rest(ctx))
}

// rest does so for those who read, as far as they have nothing to do.
func (r *reader) rest(ctx context.Context) (err error) {
	for range r.db.Stats().Idle {
		c, e := r.db.Conn(ctx)
		if e != nil {
			return errors.Join(err, fmt.Errorf("give memory back: %w", e))
		}
		defer func() { err = errors.Join(err, c.Close()) }() // all are held at the same time, so that they are different ones
		err = errors.Join(err, shrink(ctx, c))
	}
	return err
}

func shrink(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "PRAGMA shrink_memory"); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}
