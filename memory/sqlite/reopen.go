package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// After a failed flush the system's cache and the disk may differ, and the system tells
// it once. So nothing more is written over these connections. They are closed as they
// are, the log is cut behind the last acknowledged transaction, and new ones are opened:
// SQLite then reads the log anew and checks it.

// maxFrames is the length of the log at which it is moved into the file.
const maxFrames = 2000

// noteDisk keeps the first error of the disk, other than one of reading.
func (w *writer) noteDisk(err error) error {
	var e *sqlite.Error
	if err == nil || w.broken != nil || !errors.As(err, &e) || e.Code()&0xff != lib.SQLITE_IOERR {
		return err
	}
	if e.Code() != lib.SQLITE_IOERR_READ && e.Code() != lib.SQLITE_IOERR_SHORT_READ {
		w.broken = err
	}
	return err
}

// logState says how many frames the log has, and notes how many of them are not in the
// file yet. Mode NOOP only asks.
func (w *writer) logState(mode string) (busy bool, frames int, err error) {
	// Pragmas are not prepared: they act when they are compiled.
	var moved int
	row := w.conn.QueryRowContext(background, "PRAGMA wal_checkpoint("+mode+")")
	if err := row.Scan(&busy, &frames, &moved); err != nil {
		return false, 0, w.noteDisk(err)
	}
	w.unmoved = frames - moved
	return busy, frames, nil
}

// moveLog moves a long log into the file, as far as readers allow.
func (s *Store) moveLog() {
	if s.w.broken != nil {
		return
	}
	if _, _, err := s.w.logState("NOOP"); err == nil && s.w.unmoved > s.maxFrames {
		_, _, _ = s.w.logState("PASSIVE") // noteDisk has the error
	}
}

// reopen replaces all connections.
func (s *Store) reopen() error {
	s.reader.mu.Lock()
	why := s.w.broken
	err := s.shut()
	if err == nil {
		err = s.connect(s.identity.file)
	}
	s.reader.mu.Unlock()
	if err != nil {
		return fmt.Errorf("open the store anew: %w", err)
	}
	s.log.Warn("connections to the store were closed and opened anew", "reason", why)
	return s.rescan(background)
}

// shut closes the connections and leaves the log as the disk has it. Only the writer
// could move it, and only as the last one. A log and an index that are not this
// process's make room; beside a file that is not, nothing is touched.
func (s *Store) shut() error {
	if !s.w.shut {
		_ = s.w.rollback()
		_, frames, err := s.w.logState("NOOP")
		_ = s.w.close() // it may report the failed flush again
		_ = s.reader.close()
		s.w.shut, s.w.told, s.w.cut = true, frames, err == nil
	}
	for _, name := range s.identity.away() {
		if name == s.identity.file {
			return nil
		}
		if err := os.Rename(name, name+".replaced"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if !s.w.cut {
		return nil
	}
	err := cutLog(s.identity.file+"-wal", s.w.told)
	s.w.cut = err != nil
	return err
}

// cutLog cuts transactions that nobody was told of, and flushes that.
func cutLog(path string, frames int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is flushed
	const head, frameHead = 32, 24
	var size int64
	if frames > 0 {
		var page [4]byte
		if _, err := f.ReadAt(page[:], 8); err != nil {
			return err
		}
		size = head + int64(frames)*(frameHead+int64(binary.BigEndian.Uint32(page[:])))
	}
	if is, err := f.Stat(); err != nil || is.Size() <= size {
		return err
	}
	return errors.Join(f.Truncate(size), f.Sync())
}

// connect opens the connections to an existing file.
func (s *Store) connect(file string) (err error) {
	if s.w, err = newWriter(file); err != nil {
		s.w = &writer{broken: err, shut: true}
		return err
	}
	s.w.direct = s.direct
	defer func() {
		if err != nil { // the writer must not be the last one, see shut
			err = errors.Join(err, s.w.close(), s.reader.close())
			s.w.broken, s.w.shut = err, true
		}
	}()
	if err := s.w.prepare(); err != nil {
		return err
	}
	if err := s.w.configure(); err != nil {
		return err
	}
	if err := s.reader.open(file, "ro"); err != nil {
		return err
	}
	if err := s.identity.note(file); err != nil {
		return err
	}
	return s.emptyLog()
}
