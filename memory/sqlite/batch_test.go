package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nod/memory"
)

// A failed first operation of a transaction is undone like any other, and later
// operations are kept.
func TestFirstPartIsUndone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nod.db")
	if err := createPrivate(file); err != nil {
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
		return func(w *writer) error { return errors.Join(w.exec("INSERT INTO word VALUES (?)", word), err) }
	}
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	if lost, err := w.runFirst(say("first", ours)); lost || !errors.Is(err, ours) {
		t.Errorf("the first part: %v, %v", lost, err)
	}
	if lost, err := w.runSavepoint(say("second", ours)); lost || !errors.Is(err, ours) {
		t.Errorf("the second part: %v, %v", lost, err)
	}
	if lost, err := w.runSavepoint(say("third", nil)); lost || err != nil {
		t.Errorf("the third part: %v, %v", lost, err)
	}
	if err := w.commit(); err != nil {
		t.Fatal(err)
	}
	var words string
	if _, err := w.queryRow("SELECT group_concat(word) FROM word", nil, &words); err != nil || words != "third" {
		t.Errorf("%q was kept (%v), want the third alone", words, err)
	}
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

// Close waits for callers that write their own operation; later callers get an error.
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

// A message in the transaction that releases a thread wakes it again.
func TestLetGoAndWoken(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	mustPut(t, s, "1", message("1", "hi"))
	run := mustNext(t, s)
	release := gate(t, s)
	s.clean() // the sweep waits, too
	finished, put := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.Finish(context.Background(), run, time.Time{})
		finished <- err
	}()
	waiting(t, s, 1)
	go func() {
		_, err := s.Put(context.Background(), run.Thread, message("2", "again"))
		put <- err
	}()
	waiting(t, s, 2)
	release()
	if err := errors.Join(<-finished, <-put); err != nil {
		t.Fatal(err)
	}
	if next := mustNext(t, s); len(next.Log) != 2 {
		t.Errorf("claimed with %d entries, want both messages", len(next.Log))
	}
}

// waiting waits until so many operations wait for the writer. The sweep begins by itself, so
// its operation does not count.
func waiting(t *testing.T, s *Store, n int) {
	t.Helper()
	swept := func(o *op) bool {
		return strings.Contains(runtime.FuncForPC(reflect.ValueOf(o.do).Pointer()).Name(), ".portions.")
	}
	eventually(t, "operations wait", func() bool {
		s.ops.mu.Lock()
		defer s.ops.mu.Unlock()
		return len(slices.DeleteFunc(slices.Clone(s.ops.ops), swept)) == n
	})
}
