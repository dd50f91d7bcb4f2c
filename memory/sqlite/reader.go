package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"nod/chat"
	"nod/memory"
)

// reader reads the file beside the writer.
type reader struct {
	mu sync.RWMutex // held for reading by each query, and for writing while the file is opened anew
	db *sql.DB      // nil: closed

	alone *fileSnapshot // each query checks it; nil: a process may have the file
}

// errShut: after an error of the disk the file could not be opened anew yet.
var errShut = errors.New("the store is closed after an error of the disk, and will be opened anew")

func (r *reader) open(file, mode string) (err error) {
	r.db, err = database(file, mode, 4, fmt.Sprintf("busy_timeout(%d)", lockWait))
	return err
}

// close closes the file, if it was opened.
func (r *reader) close() error {
	if r.db == nil {
		return nil
	}
	err := r.db.Close()
	r.db = nil
	return err
}

// readAll reads all rows of a query.
func readAll[T any](ctx context.Context, r *reader, query string, args []any, scan func(*sql.Rows) (T, error)) ([]T, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.db == nil {
		return nil, errShut
	}
	rows, err := r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, r.alone.check(err)
	}
	out, err := gather(rows, scan)
	if err = r.alone.check(err); err != nil {
		return nil, err
	}
	return out, nil
}

// readRow reads one row; ok is false if there is none.
func (r *reader) readRow(ctx context.Context, query string, args []any, into ...any) (ok bool, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.db == nil {
		return false, errShut
	}
	err = r.db.QueryRowContext(ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, r.alone.check(nil)
	}
	err = r.alone.check(err)
	return err == nil, err
}

// readThread reads a thread in one statement, and so at one moment: its row, the log
// from a Seq on (behind the base, if ?3 is 1), the inbox.
const readThread = `
	SELECT 0, seq, id, base, woken, wake_at, touched, NULL FROM thread WHERE name = ?1
	UNION ALL
	SELECT 1, l.seq, l.entry, coalesce(e.at, 0), 0, 0, 0, e.body
		FROM thread t CROSS JOIN log l ON l.thread = t.id AND l.seq > max(?2, (t.base - 1) * ?3) LEFT JOIN entry e ON e.id = l.entry
		WHERE t.name = ?1
	UNION ALL
	SELECT 2, i.n, i.entry, coalesce(e.at, 0), 0, 0, 0, e.body
		FROM thread t CROSS JOIN inbox i ON i.thread = t.id LEFT JOIN entry e ON e.id = i.entry
		WHERE t.name = ?1
	ORDER BY 1, 2`

// row is an entry in the file.
type row struct {
	seq   uint64 // in the inbox: its number there
	entry int64  // 0: not in the file yet
	at    int64
	kind  string // of an entry to write
	raw   []byte
	body  memory.Body // nil: in raw only
}

func entries(rows []row) []memory.Entry {
	if len(rows) == 0 {
		return nil
	}
	out := make([]memory.Entry, len(rows))
	for i, r := range rows {
		if r.body == nil {
			r.body = memory.Decode(r.raw)
		}
		out[i] = memory.Entry{Seq: r.seq, At: fromMillis(r.at), Body: r.body}
	}
	return out
}

// loaded is the result of readThread.
type loaded struct {
	found                  bool
	id                     int64
	seq, base              uint64
	woken, wakeAt, touched int64
	log, inbox             []row
}

// partRow is a row of readThread.
type partRow struct {
	part int
	row
	woken, wakeAt, touched int64
}

// The parts that a row may be of.
const (
	inThread = iota
	inLog
	inInbox
)

func scanPart(rows *sql.Rows) (p partRow, err error) {
	return p, rows.Scan(&p.part, &p.seq, &p.entry, &p.at, &p.woken, &p.wakeAt, &p.touched, &p.raw)
}

// gathered puts the rows of readThread together.
func gathered(rows []partRow) (l loaded) {
	for _, e := range rows {
		switch e.part {
		case inThread:
			l = loaded{found: true, id: e.entry, seq: e.seq, base: uint64(e.at), woken: e.woken, wakeAt: e.wakeAt, touched: e.touched}
		case inLog:
			l.log = append(l.log, e.row)
		default:
			l.inbox = append(l.inbox, e.row)
		}
	}
	return l
}

// load reads the thread's log after a Seq, from its base on if current.
func (r *reader) load(ctx context.Context, thread string, after uint64, current bool) (loaded, error) {
	rows, err := readAll(ctx, r, readThread, []any{thread, after, current}, scanPart)
	return gathered(rows), err
}

// waiting gives the inbox as readers see it.
func (l loaded) waiting() []memory.Entry {
	out := entries(l.inbox)
	for i := range out {
		out[i].Seq = 0
	}
	return out
}

// Read implements memory.Reader.
func (r *reader) Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error) {
	l, err := r.load(ctx, thread.String(), 0, false)
	return append(entries(l.log), l.waiting()...), memory.Doing("read thread", err)
}

// Tail implements memory.Reader.
func (r *reader) Tail(ctx context.Context, thread chat.ThreadID, after uint64) (memory.Tail, error) {
	l, err := r.load(ctx, thread.String(), after, true)
	return memory.Tail{Base: l.base, Last: l.seq, Log: entries(l.log), Inbox: l.waiting()}, memory.Doing("read the end of a thread", err)
}

// gather reads all rows.
func gather[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
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
