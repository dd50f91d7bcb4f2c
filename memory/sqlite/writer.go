package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// writer is the one connection that writes, with its prepared statements.
type writer struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// lockWait is how long a transaction waits for another process that writes.
const lockWait = 2000 // ms

func newWriter(file string) (*writer, error) {
	// What was erased must be unreadable in the file, too.
	db, err := database(file, "rw", 1, fmt.Sprintf("busy_timeout(%d)", lockWait), "secure_delete(ON)", "temp_store(MEMORY)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(background)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &writer{db: db, conn: conn, stmts: map[string]*sql.Stmt{}}, nil
}

// configure sets what changes the file or needs its format to be known. NORMAL
// would lose acknowledged events in a power cut. The read makes the -wal file.
func (w *writer) configure() error {
	const pragmas = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;
		PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -8192;
		SELECT value FROM number`
	_, err := w.conn.ExecContext(background, pragmas)
	return err
}

func (w *writer) close() error {
	var errs []error
	for _, st := range w.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close())...)
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

// change executes and says how many rows it changed.
func (w *writer) change(query string, args ...any) (int64, error) {
	st, err := w.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert executes and gives the id of the new row.
func (w *writer) insert(query string, args ...any) (int64, error) {
	st, err := w.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(background, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// run executes and forgets the result.
func (w *writer) run(query string, args ...any) error {
	st, err := w.stmt(query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(background, args...)
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

// all reads rows, one call of scan a row.
func all[T any](w *writer, query string, args []any, scan func(*sql.Rows) (T, error)) ([]T, error) {
	st, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := st.QueryContext(background, args...)
	if err != nil {
		return nil, err
	}
	return gather(rows, scan)
}

// id reads a row that is one number.
func id(r *sql.Rows) (n int64, err error) { return n, r.Scan(&n) }

// changes counts the rows that were changed so far.
func (w *writer) changes() (n int64) {
	_, _ = w.one("SELECT total_changes()", nil, &n) // it reads no file
	return n
}

// Transactions.

func (w *writer) begin() error    { return w.run("BEGIN IMMEDIATE") }
func (w *writer) commit() error   { return w.run("COMMIT") }
func (w *writer) rollback() error { return w.run("ROLLBACK") }

// first runs the first part of a transaction, which is undone when it fails. Nothing
// was done before it, so that it needs no savepoint: the transaction begins anew. lost
// is as of within.
func (w *writer) first(do func(*writer) error) (lost bool, err error) {
	if err = do(w); err == nil {
		return false, nil
	}
	return w.rollback() != nil || w.begin() != nil, err
}

// within runs a part of a transaction that is undone when it fails. lost says
// that SQLite gave up the whole transaction, as it does when the disk is full.
func (w *writer) within(do func(*writer) error) (lost bool, err error) {
	if err := w.run("SAVEPOINT part"); err != nil {
		return true, err
	}
	err = do(w)
	if err != nil && w.run("ROLLBACK TO part") != nil {
		return true, err
	}
	if e := w.run("RELEASE part"); e != nil {
		return true, errors.Join(err, e)
	}
	return false, err
}
