package sqlite

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"nod/memory"
)

// A file that was moved, deleted or replaced takes no writes: nobody would find them
// there. Put back, it goes on.
func TestFileTakenAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	mustPut(t, s, "a", message("m1", "hi"))
	away := func(what string) {
		t.Helper()
		if _, err := s.Put(bounded(t), onBoard("a"), message("m2", "hi"), "e2"); !errors.Is(err, errMoved) {
			t.Errorf("Put into a file that was %s: %v, want %v", what, err, errMoved)
		}
		if err := s.Ping(bounded(t)); !errors.Is(err, errMoved) {
			t.Errorf("Ping with a file that was %s: %v, want %v", what, err, errMoved)
		}
	}
	mustMove(t, path, path+".away")
	away("moved")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	away("replaced")
	mustMove(t, path+".away", path)
	eventually(t, "the store takes writes again", func() bool { return s.Ping(bounded(t)) == nil })
	mustPut(t, s, "a", message("m2", "hi"), "e2")
	if log, err := s.Read(t.Context(), onBoard("a")); err != nil || len(log) != 2 {
		t.Errorf("Read = %v, %v, want two messages", log, err)
	}
}

func mustMove(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// Deleting the lock file does not bring two processes onto one store. The holder locks
// it again; if another process was quicker, the holder begins nothing more.
func TestLockTakenAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	unlock := func() {
		t.Helper()
		if err := os.Remove(path + ".lock"); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, path, Options{})
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	unlock()
	if _, err := s.Commit(t.Context(), run, memory.Ended{Turn: 1}); err != nil {
		t.Errorf("Commit after the lock file was deleted: %v", err)
	}
	if other, err := Open(t.Context(), path, Options{}); !errors.Is(err, ErrInUse) {
		_ = other.Close()
		t.Fatalf("Open of a store that a process has: %v, want %v", err, ErrInUse)
	}

	// What the holder does by itself locks the file again, now and then first.
	var second *Store
	for err := ErrInUse; errors.Is(err, ErrInUse); {
		unlock()
		if second, err = Open(t.Context(), path, Options{Logger: slog.New(slog.DiscardHandler)}); err != nil && !errors.Is(err, ErrInUse) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = second.Close() })
	if got := mustNext(t, second).Thread; got != run.Thread {
		t.Errorf("the other process claimed %v, want %v", got, run.Thread)
	}
	if _, err := s.Commit(bounded(t), run, memory.Started{Call: "1.1"}); !errors.Is(err, ErrInUse) {
		t.Errorf("Commit beside another process: %v, want %v", err, ErrInUse)
	}
	mustClose(t, second)
	if err := s.Ping(bounded(t)); !errors.Is(err, ErrInUse) {
		t.Errorf("Ping after another process had the store: %v, want %v", err, ErrInUse)
	}
}
