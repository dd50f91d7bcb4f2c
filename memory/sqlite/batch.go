package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// maxBatch bounds the operations of one transaction, and so the wait of its first one.
const maxBatch = 256

// runWriter commits waiting operations until the store is closed and none is left.
func (s *Store) runWriter() {
	for s.waitForOps() {
		// An empty transaction, such as a sweep's, does not prove that a failing store works
		// again.
		if wrote, err := s.batch(); err != nil || wrote || s.health.pause == 0 {
			s.health.note(s.log, err)
		}
		s.moveLog()
		s.purge.runIfDue(s)
		if s.health.pause > 0 {
			select {
			case <-time.After(s.health.pause):
			case <-s.closed:
			}
		}
	}
}

// waitForOps blocks until an operation waits; false when none will come. Meanwhile it
// looks after the files and empties the write-ahead log, when that is due.
func (s *Store) waitForOps() bool {
	for {
		waiting, closed := s.ops.state()
		if waiting > 0 || closed {
			return waiting > 0
		}
		var check <-chan time.Time
		if s.purge.requested || s.w.unmoved > 0 {
			check = time.After(checkEvery)
		}
		select {
		case <-s.ops.more:
		case <-check:
			if err := s.checkFiles(); err != nil {
				s.health.note(s.log, err)
			}
			s.purge.runIfDue(s)
		}
	}
}

// checkEvery is how often an idle store looks after its files, while the log holds more
// than the file or erased text.
const checkEvery = time.Second

func (s *Store) begin() error {
	if err := s.checkFiles(); err != nil {
		return err
	}
	return s.w.begin()
}

// batch commits waiting operations as one transaction, and says whether it wrote
// anything. An error means that the store takes no writes. It takes operations only
// once the transaction has begun, so that their callers can still withdraw them.
func (s *Store) batch() (wrote bool, err error) {
	n, _ := s.ops.state()
	if err = s.begin(); err != nil {
		_ = s.w.rollback() // an earlier rollback may have failed
		for o := s.ops.next(); o != nil; o = s.ops.next() {
			o.err = err
			o.finish()
		}
		return false, err
	}
	var ops []*op
	for o := s.ops.next(); o != nil; o = s.ops.next() {
		ops = append(ops, o)
		if s.w.perform(o); o.err != nil {
			return s.salvage(ops, o.err)
		}
		if len(ops) == maxBatch {
			break
		}
	}
	if len(ops) > n && !s.isInPlace() { // some came after the files were checked
		err = errMoved
	}
	if err == nil {
		err = s.w.commit()
	}
	if err != nil {
		return s.salvage(ops, err)
	}
	return answer(ops)
}

// perform runs an operation within a transaction.
func (w *writer) perform(o *op) {
	before := w.changes()
	o.do(w)
	o.wrote = w.changes() > before
	o.err, w.err = w.err, nil
}

// ping writes and changes nothing.
const ping = "UPDATE number SET value = 1 - value WHERE name = 'ping'"

// salvage rolls a transaction back in which an operation failed, or which failed itself.
// It runs each operation in a transaction of its own: a file that does not fit on the
// disk must not fail the messages of others.
func (s *Store) salvage(ops []*op, err error) (wrote bool, trouble error) {
	_ = s.w.rollback() // SQLite may have done so already
	if len(ops) == 1 {
		ops[0].err = err
		return answer(ops)
	}
	for _, o := range ops {
		s.runAlone(o)
	}
	return answer(ops)
}

func (s *Store) runAlone(o *op) {
	if o.err = s.begin(); o.err == nil {
		s.w.perform(o)
	}
	if o.err == nil {
		o.err = s.w.commit()
	}
	if o.err != nil {
		_ = s.w.rollback()
	}
}

// answer finishes all operations. It returns trouble if none was written and the file
// refused one.
func answer(ops []*op) (wrote bool, trouble error) {
	for _, o := range ops {
		wrote = wrote || o.err == nil && o.wrote
		if isFileError(o.err) {
			trouble = o.err
		}
		o.finish()
	}
	if wrote {
		trouble = nil
	}
	return wrote, trouble
}

func (o *op) finish() {
	if o.err != nil {
		o.err = fmt.Errorf("write to the store: %w", o.err)
	} else if o.after != nil {
		o.after()
	}
	close(o.done)
}

// isFileError says whether an error is the file's, not the operation's own.
func isFileError(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return errors.Is(err, errShut)
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_CANTOPEN,
		lib.SQLITE_NOMEM, lib.SQLITE_PERM, lib.SQLITE_NOTADB, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// health says whether the store takes writes. It belongs to the writer.
type health struct {
	pause time.Duration // after a failed transaction; 0: it takes them
}

// The pause grows from the first to the longest, so that the writer does not hammer on a
// full disk.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// note takes the result of a transaction. It logs the first failure, and the first
// success after it.
func (h *health) note(log *slog.Logger, err error) {
	switch {
	case err != nil && h.pause == 0:
		log.Error("store takes no writes", "error", err)
	case err == nil && h.pause > 0:
		log.Warn("store takes writes again")
	}
	if err == nil {
		h.pause = 0
		return
	}
	h.pause = min(max(2*h.pause, firstPause), longestPause)
}
