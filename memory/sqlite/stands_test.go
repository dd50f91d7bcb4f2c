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

// A log or an index that is deleted, moved or replaced costs nothing that was
// acknowledged, even if the process is killed right after the next acknowledgement.
func TestPartTakenAway(t *testing.T) {
	t.Parallel()
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	move := func(t *testing.T, path string) { t.Helper(); mustMove(t, path, path+".away") }
	older := func(t *testing.T, path string) { // what a copy had
		t.Helper()
		content := mustRead(t, path)
		remove(t, path)
		mustWrite(t, path, content)
	}
	for name, takeAway := range map[string]func(*testing.T, string){"deleted": remove, "moved": move, "replaced": older} {
		for _, part := range parts[1:] {
			t.Run(part+" "+name, func(t *testing.T) {
				t.Parallel()
				var said lines
				path := filepath.Join(t.TempDir(), "nod.db")
				s := mustOpen(t, path, Options{Logger: said.logger()})
				mustPut(t, s, "a", message("m1", "hi"))
				run := mustNext(t, s)
				takeAway(t, path+part)
				if _, err := s.Commit(t.Context(), run, memory.Started{Call: "1"}); err != nil {
					t.Fatal(err)
				}
				mustPut(t, s, "a", message("m2", "hi"))
				wantLog(t, killedCopy(t, path), 3)
				if n := said.count("level=ERROR"); n != 1 {
					t.Errorf("%d errors said, want one: %q", n, said.buf.String())
				}
				wantLog(t, s, 3)
			})
		}
	}
}

// An idle store notices that its log was deleted, and saves what only the log had.
func TestLogTakenAwayFromAnIdleStore(t *testing.T) {
	t.Parallel()
	var said lines
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{Logger: said.logger()})
	mustPut(t, s, "a", message("m1", "hi"))
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is noticed", func() bool { return said.count("log_saved=true") == 1 })
	wantLog(t, killedCopy(t, path), 1)
}

// While a reader keeps the log from being saved, nothing is acknowledged.
func TestLogTakenAwayWhileRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	mustPut(t, s, "a", message("m1", "hi"))
	shell := beside(t, path)
	mustExec(t, shell, "BEGIN; SELECT * FROM thread")
	mustPut(t, s, "a", message("m2", "hi"))
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(bounded(t), onBoard("a"), message("m3", "hi"), "e3"); !errors.Is(err, errUnsaved) {
		t.Errorf("Put: %v, want %v", err, errUnsaved)
	}
	if err := s.Ping(bounded(t)); !errors.Is(err, errUnsaved) {
		t.Errorf("Ping: %v, want %v", err, errUnsaved)
	}
	mustExec(t, shell, "ROLLBACK")
	eventually(t, "the store takes writes again", func() bool { return s.Ping(bounded(t)) == nil })
	mustPut(t, s, "a", message("m3", "hi"), "e3")
	wantLog(t, killedCopy(t, path), 3)
}

// A file that was moved away is whole without its log.
func TestMovedFileIsWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	mustPut(t, s, "a", message("m1", "hi"))
	mustMove(t, path, path+".away")
	if err := s.Ping(bounded(t)); !errors.Is(err, errMoved) {
		t.Errorf("Ping: %v, want %v", err, errMoved)
	}
	wantLog(t, killedCopy(t, path+".away"), 1)
}

// killedCopy is the store as a process finds it that begins after the one that has it
// was killed.
func killedCopy(t *testing.T, path string) *Store {
	t.Helper()
	to := filepath.Join(t.TempDir(), "nod.db")
	for _, part := range parts[:2] {
		if content, err := os.ReadFile(path + part); err == nil {
			mustWrite(t, to+part, content)
		}
	}
	return mustOpen(t, to, Options{})
}

func wantLog(t *testing.T, s *Store, want int) {
	t.Helper()
	if log, err := s.Read(t.Context(), onBoard("a")); err != nil || len(log) != want {
		t.Errorf("%d entries, %v, want %d", len(log), err, want)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func mustWrite(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
