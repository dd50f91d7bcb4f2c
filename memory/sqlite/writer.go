package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"nod/memory"
)

// op is one operation for the writer. do runs inside the transaction that the
// operation shares with others.
type op struct {
	do func(*writer) error
	// early lets the caller go on before the transaction is committed. That is
	// right for what nobody outside can have seen and what everything later
	// depends on: it becomes durable no later than that.
	early bool
	done  chan error
	after func() // when committed
}

// writer holds the one connection that writes and its prepared statements.
type writer struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, stmts: map[string]*sql.Stmt{}}
	var have int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if have > schemaVersion {
		return nil, errors.Join(fmt.Errorf("the file is of version %d, and this build knows %d; use a newer build", have, schemaVersion), conn.Close())
	}
	if _, err := conn.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d;", schemaVersion)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

func (w *writer) close() error {
	var errs []error
	for _, st := range w.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}

// The writer's statements never take a context: an operation that began is
// finished, since others share its transaction.
var background = context.Background()

func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if st := w.stmts[query]; st != nil {
		return st, nil
	}
	st, err := w.conn.PrepareContext(background, query)
	if err != nil {
		return nil, err
	}
	w.stmts[query] = st
	return st, nil
}

func (w *writer) exec(query string, args ...any) (sql.Result, error) {
	st, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	return st.ExecContext(background, args...)
}

// run executes and forgets the result.
func (w *writer) run(query string, args ...any) error {
	_, err := w.exec(query, args...)
	return err
}

// one reads one row; ok is false when there is none.
func (w *writer) one(query string, args []any, into ...any) (ok bool, err error) {
	st, err := w.stmt(query)
	if err != nil {
		return false, err
	}
	err = st.QueryRowContext(background, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// each reads rows, one call of scan a row.
func (w *writer) each(query string, args []any, scan func(*sql.Rows) error) error {
	st, err := w.stmt(query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(background, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// submit hands an operation to the writer and waits for it.
func (s *Store) submit(ctx context.Context, o *op) error {
	o.done = make(chan error, 1)
	select {
	case <-s.closed:
		return memory.ErrFenced
	default:
	}
	select {
	case s.ops <- o:
	case <-s.closed:
		return memory.ErrFenced
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxBatch bounds what one transaction takes, and with it how long the first
// operation of it waits.
const maxBatch = 256

// write is the goroutine that writes, until the store is closed and nothing
// waits any more.
func (s *Store) write() {
	for {
		select {
		case o := <-s.ops:
			s.batch(o)
		case <-s.closed:
			for {
				select {
				case o := <-s.ops:
					s.batch(o)
				default:
					return
				}
			}
		}
	}
}

// batch commits the operation and all that wait behind it as one transaction.
func (s *Store) batch(first *op) {
	var ops []*op
	err := s.w.run("BEGIN IMMEDIATE")
	for o := first; o != nil && err == nil; o = s.more(len(ops)) {
		ops = append(ops, o)
		if err = o.do(s.w); o.early && err == nil {
			o.done <- nil
		}
	}
	if err == nil {
		err = s.w.run("COMMIT")
	}
	if err == nil {
		for _, o := range ops {
			s.finish(o, nil)
		}
		return
	}
	if len(ops) == 0 {
		ops = append(ops, first)
	}
	s.abort(ops, err)
}

// more takes another operation that waits, if there is one.
func (s *Store) more(have int) *op {
	if have >= maxBatch {
		return nil
	}
	select {
	case o := <-s.ops:
		return o
	default:
		return nil
	}
}

func (s *Store) finish(o *op, err error) {
	if err == nil && o.after != nil {
		o.after()
	}
	select {
	case o.done <- err:
	default: // an early one was told already
	}
}

// abort gives a failed transaction up: nothing of it happened. What was let go
// early may hold what is not in the file, so every run is lost and the queue is
// read again from the file.
func (s *Store) abort(ops []*op, err error) {
	if rb := s.w.run("ROLLBACK"); rb != nil {
		s.log.Debug("roll back", "error", rb)
	}
	s.log.Error("store transaction failed", "error", err, "operations", len(ops))
	s.queue.loseAll()
	if re := s.rescan(background); re != nil {
		s.log.Error("read the queue again", "error", re)
	}
	for _, o := range ops {
		s.finish(o, fmt.Errorf("write to the store: %w", err))
	}
}

// do submits an operation that does not need anything but the writer.
func (s *Store) do(ctx context.Context, f func(*writer) error) error {
	return s.submit(ctx, &op{do: f})
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
