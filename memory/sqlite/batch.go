package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// maxBatch bounds what one transaction takes, and with it how long the first
// operation of it waits.
const maxBatch = 256

// write is the goroutine that writes what others wait for, until the store is closed
// and nothing waits any more.
func (s *Store) write() {
	for s.waits() {
		s.rest(s.writes())
	}
}

// writes commits what waits, and says for how long nothing is to be tried now.
func (s *Store) writes() time.Duration {
	s.pen.Lock()
	defer s.pen.Unlock()
	if waits, _ := s.ops.state(); !waits { // whoever had the pen wrote it too
		return 0
	}
	s.transact()
	s.purge.now(s)
	return s.health.pause
}

// rest waits that long, or until the store is closed.
func (s *Store) rest(pause time.Duration) {
	if pause == 0 {
		return
	}
	select {
	case <-time.After(pause):
	case <-s.closed:
	}
}

// waits waits for an operation; false when none will come. Meanwhile it empties
// the write-ahead log when that is due.
func (s *Store) waits() bool {
	for {
		waits, closed := s.ops.state()
		if waits || closed {
			return waits
		}
		s.pen.Lock()
		purge := s.purge.due()
		s.pen.Unlock()
		select {
		case <-s.ops.more:
		case <-purge:
			s.pen.Lock()
			s.purge.now(s)
			s.pen.Unlock()
		}
	}
}

// byItself writes an operation in the goroutine of whoever wants it done, if nothing else
// is being written and all is well: to hand it to another goroutine and back costs as
// much as to write it.
func (s *Store) byItself(o *op) bool {
	if !s.pen.TryLock() {
		return false
	}
	defer s.pen.Unlock()
	if s.health.ill || !s.ops.only(o) {
		return false
	}
	s.transact()
	if s.purge.wanted {
		s.ops.ring()
	}
	return true
}

// transact commits what waits, and notes whether the store takes writes. A transaction
// that changes nothing, such as one of a sweep, does not tell that of a store that took none.
func (s *Store) transact() {
	if wrote, err := s.batch(); err != nil || wrote || !s.health.ill {
		s.health.note(s.log, err)
	}
}

// batch commits what waits as one transaction, and says whether it wrote anything. An
// error says that the store takes no writes. Nothing is taken before the transaction has
// begun, so that whoever waits may still go away.
func (s *Store) batch() (wrote bool, err error) {
	n := s.ops.count()
	if err = s.stands(); err == nil {
		err = s.w.begin()
	}
	if err != nil {
		_ = s.w.rollback() // of one that could not be rolled back before, if there is any
		s.refuse(err)
		return false, err
	}
	var ops []*op
	lost := false
	for len(ops) < maxBatch && !lost {
		o := s.ops.take()
		if o == nil {
			break
		}
		within := s.w.within
		if len(ops) == 0 {
			within = s.w.first
		}
		ops = append(ops, o)
		before := s.w.changes()
		lost, o.err = within(o.do)
		o.wrote = s.w.changes() > before
	}
	if !lost && len(ops) > n { // some came since it was looked whether the file stands there
		err = s.stands()
	}
	if !lost && err == nil {
		err = s.w.commit()
	}
	if lost || err != nil {
		return s.salvage(ops, err)
	}
	return answer(ops)
}

// ping is a write that means nothing.
func ping(w *writer) error { return w.run("UPDATE number SET value = 1 - value WHERE name = 'ping'") }

// refuse tells all who wait that a transaction can't even begin.
func (s *Store) refuse(err error) {
	for o := s.ops.take(); o != nil; o = s.ops.take() {
		o.err = err
		o.finish()
	}
}

// salvage gives up a transaction and runs each operation in one of its own: a file
// for which the disk has no room must not take the messages of others with it.
func (s *Store) salvage(ops []*op, err error) (wrote bool, trouble error) {
	_ = s.w.rollback() // SQLite may have done so already
	if len(ops) == 1 {
		if ops[0].err == nil {
			ops[0].err = err
		}
		return answer(ops)
	}
	for _, o := range ops {
		o.err = s.alone(o)
	}
	return answer(ops)
}

func (s *Store) alone(o *op) error {
	err := s.stands()
	if err == nil {
		err = s.w.begin()
	}
	if err != nil {
		return err
	}
	before := s.w.changes()
	err = o.do(s.w)
	o.wrote = s.w.changes() > before
	if err == nil {
		err = s.w.commit()
	}
	if err != nil {
		_ = s.w.rollback()
	}
	return err
}

// answer tells everybody what came of it. The error says that the store takes no
// writes: nothing at all was written, for want of room or the like.
func answer(ops []*op) (wrote bool, trouble error) {
	for _, o := range ops {
		if o.err == nil {
			wrote = wrote || o.wrote
		} else if isTrouble(o.err) {
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

// isTrouble says whether an error is the file's, not the operation's own.
func isTrouble(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_CANTOPEN,
		lib.SQLITE_NOMEM, lib.SQLITE_PERM, lib.SQLITE_NOTADB, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// health knows whether the store takes writes. Who has the pen uses it.
type health struct {
	ill   bool
	pause time.Duration
}

// The pause after a transaction that failed, so that the writer does not hammer
// on a disk that is full: it grows up to the longest.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// note takes what came of a transaction: it says once that the store takes no
// writes, and once that it is over.
func (h *health) note(log *slog.Logger, err error) {
	if err == nil {
		if h.ill {
			log.Warn("store takes writes again")
		}
		*h = health{}
		return
	}
	if !h.ill {
		log.Error("store takes no writes", "error", err)
	}
	h.ill = true
	h.pause = min(max(2*h.pause, firstPause), longestPause)
}
