package sqlite

import (
	"context"
	"errors"
	"fmt"
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

// Operations that fail are undone, and the others of their transaction are kept.
func TestFailedPartIsUndone(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	ours := errors.New("of its own")
	release := gate(t, s)
	fails := []error{ours, nil, ours, nil}
	got := make([]error, len(fails))
	var wg sync.WaitGroup
	for i, err := range fails {
		wg.Go(func() {
			got[i] = s.do(context.Background(), "note", func(w *writer) {
				w.note(fmt.Sprint(i), []byte("x"))
				w.fail(err)
			})
		})
		waiting(t, s, i+1)
	}
	release()
	wg.Wait()
	for i, want := range fails {
		noted, err := s.Noted(t.Context(), fmt.Sprint(i))
		if err != nil || !errors.Is(got[i], want) || (string(noted) == "x") != (want == nil) {
			t.Errorf("operation %d: %v, noted %q, want %v", i, got[i], noted, want)
		}
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
				err := s.do(context.Background(), "ping", func(w *writer) {
					late.Add(closed.Load())
					w.exec(ping)
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
