package sqlite

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
)

// wal is the write-ahead log, for those who wait until what they wrote is on the disk
// while others write on. What is there is counted in transactions.
type wal struct {
	written atomic.Uint64
	waiting atomic.Int32  // for the disk
	safe    atomic.Uint64 // of those written
	lost    atomic.Bool   // the disk did not take what was written, and may never be asked for it again
	mu      sync.Mutex    // whoever has it brings them to the disk
	file    *os.File
	sync    func() error
}

// open opens the log that SQLite made. No lock of SQLite's is on it, which closing it
// would give up.
func (w *wal) open(database string) (err error) {
	if w.file, err = os.Open(database + "-wal"); err != nil {
		return err
	}
	w.sync = w.file.Sync
	return nil
}

// wrote counts a transaction that is written.
func (w *wal) wrote() uint64 { return w.written.Add(1) }

// has notes that the disk has what was written up to n. That says nothing of what it did not
// take before: a system forgets that once it has told it.
func (w *wal) has(n uint64) {
	for !w.lost.Load() {
		had := w.safe.Load()
		if had >= n || w.safe.CompareAndSwap(had, n) {
			return
		}
	}
}

// moved notes that all that was written is in the file itself, on the disk. Nobody writes
// meanwhile.
func (w *wal) moved() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost.Store(false)
	w.has(w.written.Load())
}

var errLost = errors.New("the disk did not take what was written before, which is to be moved into the file first")

// busy says whether somebody waits for the disk.
func (w *wal) busy() bool { return w.waiting.Load() > 0 }

// reach waits until the disk has what was written up to n.
func (w *wal) reach(n uint64) error {
	if w.safe.Load() >= n {
		return nil
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.safe.Load() >= n {
		return nil
	}
	if w.lost.Load() {
		return errLost
	}
	n = w.written.Load()
	if err := w.sync(); err != nil {
		w.lost.Store(true)
		return err
	}
	w.has(n)
	return nil
}

// close has nobody wait any more, once what is written is on the disk by other ways.
func (w *wal) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.safe.Store(^uint64(0))
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}
