package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"nod/chat"
)

// writer is the one connection that writes, with its prepared statements.
type writer struct {
	db     *sql.DB
	conn   *sql.Conn
	stmts  map[string]*sql.Stmt
	direct func(chat.ThreadID) bool

	err     error // of the operation that runs: after it the operation's queries do nothing
	unmoved int   // frames that are not in the file yet
	unsaved bool  // the log has no name any more, and is not in the file
	broken  error // nothing more may be written over this connection
	shut    bool  // it is closed
	told    int   // frames of the log up to the last acknowledged transaction, once shut
	cut     bool  // the log is still to be cut behind them
}

// lockWait is how long a transaction waits for a writing process.
const lockWait = 2000 // ms

func newWriter(file string) (*writer, error) {
	// Erased text must be unreadable in the file too.
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

// configure sets pragmas that change the file or need its format. synchronous=NORMAL
// would lose acknowledged events in a power cut. SQLite's own checkpoints would hide a
// failed flush. The query makes the -wal file.
func (w *writer) configure() error {
	const pragmas = `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;
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

// background is the context of all statements of the writer: an operation that began is
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

// execute executes a query that is no operation's, or the query of one.
func (w *writer) execute(query string, args ...any) (sql.Result, error) {
	st, err := w.stmt(query)
	if err != nil {
		return nil, err
	}
	res, err := st.ExecContext(background, args...)
	return res, w.noteDisk(err)
}

// fail notes the error of an operation; the first one counts.
func (w *writer) fail(err error) { w.err = cmp.Or(w.err, err) }

// exec executes a query of an operation, and counts the changed rows.
func (w *writer) exec(query string, args ...any) (changed int64) {
	changed, _ = w.result(query, args)
	return changed
}

// insert executes a query of an operation, and gives the id of the new row.
func (w *writer) insert(query string, args ...any) (id int64) {
	_, id = w.result(query, args)
	return id
}

func (w *writer) result(query string, args []any) (changed, id int64) {
	if w.err != nil {
		return 0, 0
	}
	res, err := w.execute(query, args...)
	if err == nil {
		changed, _ = res.RowsAffected() // SQLite knows both
		id, _ = res.LastInsertId()
	}
	w.err = err
	return changed, id
}

// queryRow reads one row; false if there is none.
func (w *writer) queryRow(query string, args []any, into ...any) bool {
	st, err := w.prepared(query)
	if err != nil {
		return false
	}
	err = st.QueryRowContext(background, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false
	}
	w.err = w.noteDisk(err)
	return err == nil
}

// queryAll reads rows, with one call of scan for each.
func queryAll[T any](w *writer, query string, args []any, scan func(*sql.Rows) (T, error)) (out []T) {
	st, err := w.prepared(query)
	if err != nil {
		return nil
	}
	rows, err := st.QueryContext(background, args...)
	if err == nil {
		out, err = gather(rows, scan)
	}
	w.err = w.noteDisk(err)
	return out
}

// prepared gives a statement of an operation, unless the operation has failed.
func (w *writer) prepared(query string) (st *sql.Stmt, err error) {
	if w.err == nil {
		st, w.err = w.stmt(query)
	}
	return st, w.err
}

func scanID(r *sql.Rows) (n int64, err error) { return n, r.Scan(&n) }

// changes counts the changed rows of the connection.
func (w *writer) changes() (n int64) {
	w.queryRow("SELECT total_changes()", nil, &n)
	return n
}

// Transactions.

func (w *writer) rollback() error { return w.transact("ROLLBACK") }

func (w *writer) transact(word string) error {
	_, err := w.execute(word)
	return err
}

func (w *writer) begin() error {
	if w.broken != nil {
		return w.broken
	}
	return w.transact("BEGIN IMMEDIATE")
}

// commit flushes the transaction.
func (w *writer) commit() error {
	if w.broken != nil {
		return w.broken
	}
	return w.transact("COMMIT")
}
