// Package sqlite keeps logs in one SQLite file, for one machine and without a
// server. One process at a time has the file: a lock file beside it says so,
// and the kernel drops that lock when the process dies. So the holders of threads
// are known in memory, and a new process takes over everything at once.
//
// One goroutine writes. It commits all waiting operations as one transaction with one
// fsync. So an acknowledged event survives a power cut, and many threads share the
// cost. One failed operation does not fail the others, and no call returns before the
// fsync.
//
// A claim writes nothing. Entries of the inbox get their place in the log with the
// first commit of the run that saw them.
package sqlite

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "modernc.org/sqlite" // the driver

	"nod/chat"
	"nod/memory"
	"nod/memory/recent"
)

// Options configure Open. The zero value is usable.
type Options struct {
	Logger *slog.Logger
	Keep   time.Duration // an untouched thread is erased after that time; 0: never
	Quota  memory.Quota
	Now    func() time.Time
	// Direct says whether a thread is a conversation with one person, which the audit
	// log names by a pseudonym; nil: none is.
	Direct func(chat.ThreadID) bool
	// Wait is how long Open waits for another process to release the file.
	Wait time.Duration
	// SweepEvery is the interval of the sweep, which deletes expired rows.
	SweepEvery time.Duration
}

// Store implements memory.Full.
type Store struct {
	reader
	w        *writer
	lock     *os.File
	identity fileIdentity
	taken    bool // another process took the file
	log      *slog.Logger
	now      func() time.Time
	self     string
	given    atomic.Int64 // the last entry that an earlier process may have acted on

	direct    func(chat.ThreadID) bool
	maxFrames int // the log is moved into the file when it is longer

	keep       time.Duration
	quota      memory.Quota
	sweepEvery time.Duration

	recent recent.Logs
	queue  queue
	ops    mailbox
	health health
	purge  purge

	dirty  chan struct{} // wakes the sweep for rubbish
	closed chan struct{}
	done   sync.WaitGroup
	once   sync.Once
}

var (
	_ memory.Full   = (*Store)(nil)
	_ memory.Lister = (*Store)(nil)
)

// Open opens or creates the file at path. A file of another format is a
// memory.FormatError.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, unopened(path, err)
	}
	s.done.Go(s.runWriter)
	s.done.Go(s.watch)
	s.done.Go(s.sweep)
	return s, nil
}

func unopened(path string, err error) error {
	if format, ok := errors.AsType[memory.FormatError](err); ok {
		return format
	}
	return memory.Doing("open store "+path, err)
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(ctx, file+".lock", o.Wait)
	if err != nil {
		return nil, err
	}
	s := &Store{
		lock: lock, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now,
		keep: o.Keep, quota: o.Quota, sweepEvery: cmp.Or(o.SweepEvery, time.Minute),
		self: randomWord(), direct: o.Direct, maxFrames: maxFrames,
		dirty: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.ops.init()
	s.queue.init()
	if err := createPrivate(file); err != nil {
		return nil, errors.Join(err, release(lock))
	}
	if err := s.connect(file); err != nil {
		return nil, errors.Join(err, release(lock))
	}
	if err := s.rescan(ctx); err != nil {
		return nil, errors.Join(err, s.reader.close(), s.w.close(), release(lock))
	}
	return s, nil
}

// emptyLog moves an earlier process's write-ahead log into the file. The log may hold
// erased text. And after a failed flush the system still reads the log from its cache,
// while the disk lacks a part: a power cut would then lose everything that is written
// behind that part.
func (s *Store) emptyLog() error {
	err := s.w.checkpoint()
	if errors.Is(err, errReader) { // such as a backup
		s.purge.request()
		return nil
	}
	return err
}

// createPrivate makes the file readable by its owner only, also one that exists. SQLite gives the files
// beside it the same rights.
func createPrivate(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		for _, suffix := range []string{"", "-wal", "-shm"} { // a restored copy may be readable by all
			_ = os.Chmod(file+suffix, 0o600) // only its owner can, and some are not there
		}
		return Writable(file)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Writable says why this user can't write an existing file: SQLite would silently open
// it for reading only. This process must not have the file open, since Writable would
// drop its locks.
func Writable(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("%s can't be written by this user: %w", file, errors.Unwrap(err))
	}
	return f.Close()
}

// modeAlone reads a file that no process writes.
const modeAlone = "alone"

// database opens the file, with these pragmas on every connection.
func database(file, mode string, conns int, pragmas ...string) (*sql.DB, error) {
	q := url.Values{"mode": {mode}, "_pragma": pragmas}
	if mode == modeAlone {
		q.Set("mode", "ro")
		q.Set("immutable", "1")
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

func randomWord() string { return strings.ToLower(rand.Text())[:16] }

// Self implements memory.Store.
func (s *Store) Self() string { return s.self }

// Silent implements memory.Store. One process has the file, so every other one is
// gone.
func (s *Store) Silent(_ context.Context, _ chat.ThreadID, process string) (time.Duration, error) {
	if process == s.self {
		return 0, nil
	}
	return memory.Forever, nil
}

// Ping implements memory.Store. What is not committed never reaches the disk, so
// it commits a page.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, "the store takes no writes", func(w *writer) { w.exec(ping) })
}

// Close implements memory.Store. Held runs are lost; their commits stay.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		s.ops.close()
		s.queue.close()
		s.done.Wait()
		if s.w.unsaved {
			s.save(s.identity.away())
		}
		if s.w.broken != nil {
			err = errors.Join(s.shut(), release(s.lock))
			return
		}
		// The last connection to close must be the writer: it then empties the
		// write-ahead log.
		err = errors.Join(s.reader.close(), s.w.close(), release(s.lock))
	})
	return err
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
