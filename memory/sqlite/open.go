// Package sqlite keeps logs in one SQLite file, for one machine and without a
// server. One process at a time has the file: a lock file beside it says so,
// and the kernel drops that lock when the process dies, however it dies. Leases
// and fencing tokens can therefore live in memory, and a new process takes
// over everything at once.
//
// The one idea: a single goroutine writes. It takes all operations that wait
// and commits them as one transaction with one fsync, so that an acknowledged
// event survives a power cut and many threads still share the cost.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the driver

	"nod/memory"
	"nod/memory/recent"
)

//go:embed schema.sql
var schema string

// schemaVersion is kept in the file; a file of a later version is refused.
const schemaVersion = 1

// ErrInUse is returned by Open when another process has the file.
var ErrInUse = errors.New("another process is using this store; stop it first, or use Redis to share a store")

// Options are for Open. The zero value is usable.
type Options struct {
	Logger *slog.Logger
	Keep   time.Duration // a thread untouched for longer is erased; 0: never
	Now    func() time.Time
	// Wait is how long Open waits for another process to let go of the file.
	Wait time.Duration
	// SweepEvery is how often what has had its time is deleted.
	SweepEvery time.Duration
}

// Store implements memory.Full.
type Store struct {
	db   *sql.DB // for reading
	w    *writer
	lock *os.File
	log  *slog.Logger
	now  func() time.Time
	keep time.Duration

	sweepEvery time.Duration

	recent *recent.Logs

	ops    chan *op
	closed chan struct{}
	done   sync.WaitGroup
	once   sync.Once

	queue queue
}

var _ memory.Full = (*Store)(nil)

// Open opens or creates the file at path.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the store: %w", err)
	}
	lock, err := acquire(ctx, path+".lock", o.Wait)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s := &Store{
		lock: lock, log: o.Logger, now: o.Now, keep: o.Keep,
		ops: make(chan *op, 1024), closed: make(chan struct{}), recent: recent.New(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.sweepEvery = o.SweepEvery; s.sweepEvery <= 0 {
		s.sweepEvery = time.Minute
	}
	if err := s.open(ctx, path); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s.done.Go(s.write)
	s.done.Go(s.tend)
	return s, nil
}

func (s *Store) open(ctx context.Context, path string) error {
	db, err := connect(path, "rwc")
	if err != nil {
		return err
	}
	if s.w, err = newWriter(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	s.db = db
	s.queue.init(s.now)
	if err := s.rescan(ctx); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// connect opens the database. NORMAL would lose acknowledged events in a power
// cut; secure_delete makes forgotten text unreadable in the file, too.
func connect(path, mode string) (*sql.DB, error) {
	q := url.Values{"mode": {mode}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "secure_delete(ON)", "wal_autocheckpoint(2000)",
	}}
	if mode == "ro" {
		q["_pragma"] = []string{"busy_timeout(5000)"}
	}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

// acquire takes the lock file. Trying again is bounded by wait: a process that
// is draining lets go soon.
func acquire(ctx context.Context, path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(ErrInUse, f.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-tick.C:
		}
	}
}

// Ping implements memory.Store.
func (s *Store) Ping(ctx context.Context) error { return s.db.PingContext(ctx) }

// Close implements memory.Store. Runs that are still held are lost; what they
// committed stays.
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		s.queue.close()
		s.done.Wait()
		err = errors.Join(s.w.close(), s.db.Close(), s.lock.Close())
	})
	return err
}

// View opens the file beside a process that may be using it, for reading only:
// Read, Audit and Blob work.
func View(_ context.Context, path string) (*Viewer, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db, err := connect(path, "ro")
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return &Viewer{Store{db: db}}, nil
}

// Viewer reads a file that another process may have.
type Viewer struct{ s Store }

// Close lets go of the file.
func (v *Viewer) Close() error { return v.s.db.Close() }

// Ping says whether the file can be read.
func (v *Viewer) Ping(ctx context.Context) error {
	var n int
	return v.s.db.QueryRowContext(ctx, "SELECT count(*) FROM thread").Scan(&n)
}
