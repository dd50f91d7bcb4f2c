package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"nod/memory"
)

// What the first part of a transaction did is undone when it fails, as that of every
// other part is, and what comes behind it is kept.
func TestFirstPartIsUndone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nod.db")
	if err := private(file); err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(file)
	if err == nil {
		_, err = w.conn.ExecContext(background, "CREATE TABLE word (word TEXT UNIQUE)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.close() }()
	ours := errors.New("of its own")
	say := func(word string, err error) func(*writer) error {
		return func(w *writer) error { return errors.Join(w.run("INSERT INTO word VALUES (?)", word), err) }
	}
	if err := w.begin(false); err != nil {
		t.Fatal(err)
	}
	if lost, err := w.first(say("first", ours)); lost || !errors.Is(err, ours) {
		t.Errorf("the first part: %v, %v", lost, err)
	}
	if lost, err := w.within(say("second", ours)); lost || !errors.Is(err, ours) {
		t.Errorf("the second part: %v, %v", lost, err)
	}
	if lost, err := w.within(say("third", nil)); lost || err != nil {
		t.Errorf("the third part: %v, %v", lost, err)
	}
	if err := w.commit(); err != nil {
		t.Fatal(err)
	}
	var words string
	if _, err := w.one("SELECT group_concat(word) FROM word", nil, &words); err != nil || words != "third" {
		t.Errorf("%q was kept (%v), want the third alone", words, err)
	}
}

// What need not be on the disk at once shares a transaction with its like alone; it is
// there with the next one that has to be, and at the latest with the next sweep.
func TestSoon(t *testing.T) {
	t.Parallel()
	s, err := open(t.Context(), filepath.Join(t.TempDir(), "nod.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.done.Go(s.write)        // and no sweep, whose first look would share a transaction
	const normal, full = 1, 2 // of PRAGMA synchronous
	level := func(into *int) func(*writer) error {
		return func(w *writer) error {
			_, err := w.one("SELECT synchronous FROM pragma_synchronous", nil, into)
			return err
		}
	}
	var one, two, three int
	done := func(soon bool, into *int) *op { return &op{do: level(into), soon: soon} }
	if err := s.submit(t.Context(), done(true, &one)); err != nil || one != normal {
		t.Errorf("alone: level %d, %v", one, err)
	}
	release := gate(t, s)
	var wg sync.WaitGroup
	for _, o := range []*op{done(true, &one), done(false, &two), done(true, &three)} {
		wg.Go(func() {
			if err := s.submit(context.Background(), o); err != nil {
				t.Error(err)
			}
		})
		queued(t, s, o)
	}
	release()
	wg.Wait()
	if one != full || two != full || three != full {
		t.Errorf("in one transaction: levels %d, %d and %d", one, two, three)
	}
	pinged := func() int {
		t.Helper()
		if err := s.settle(); err != nil {
			t.Error(err)
		}
		return pings(t, s)
	}
	before := pinged()
	if now := pinged(); now != before {
		t.Error("it is written what is on the disk already")
	}
	if err := s.submit(t.Context(), done(true, &one)); err != nil || one != normal {
		t.Errorf("after them: level %d, %v", one, err)
	}
	if now := pinged(); now == before {
		t.Error("nothing has it written to the disk")
	}
}

// What could not be written to the disk is written with the next sweep.
func TestSettledLater(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s, err := open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	set(t, s, "busy_timeout", 50)
	s.done.Go(s.write)
	if err := s.submit(t.Context(), &op{do: ping, soon: true}); err != nil {
		t.Fatal(err)
	}
	shell := beside(t, path)
	mustExec(t, shell, "BEGIN IMMEDIATE")
	if err := s.settle(); err == nil {
		t.Error("a file that is locked takes a write")
	}
	mustExec(t, shell, "ROLLBACK")
	eventually(t, "it is written", func() bool {
		before := pings(t, s)
		return s.settle() == nil && pings(t, s) != before
	})
}

// pings is the number that a ping changes.
func pings(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.db.QueryRow("SELECT value FROM number WHERE name = 'ping'").Scan(&n); err != nil {
		t.Error(err)
	}
	return n
}

// A store that was closed can be opened at once, although a child that was just forked
// still has the lock file open: it has all files until it runs its program.
func TestLockIsTakenBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	child, err := syscall.Dup(int(s.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(child) }()
	mustClose(t, s)
	mustClose(t, mustOpen(t, path, Options{}))
}

// Whoever writes an operation of his own while the store is closed is waited for; who
// comes later is told.
func TestCloseBesideWriters(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	var closed, late atomic.Int64
	var wrote, wg sync.WaitGroup
	for range 8 {
		wrote.Add(1)
		wg.Go(func() {
			for n := 0; ; n++ {
				err := s.do(context.Background(), func(w *writer) error {
					late.Add(closed.Load())
					return ping(w)
				})
				if n == 0 {
					wrote.Done()
				}
				if err != nil {
					if !errors.Is(err, memory.ErrFenced) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	wrote.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	closed.Store(1)
	wg.Wait()
	if late.Load() > 0 {
		t.Error("something was written into a store that was closed")
	}
}
