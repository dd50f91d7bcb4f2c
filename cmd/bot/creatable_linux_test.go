package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nod/cmd/bot/config"
	"nod/memory/sqlite"
)

// A check says that the store and the key can't be made where the user who runs it
// may not write, as in a container with a file of root's.
func TestCheckSeesWhatMayNotBeMade(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "nod") // not in a folder that only this user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o555); err != nil { //nolint:gosec // it is to be entered
		t.Fatal(err)
	}
	cfg := &config.Config{}
	cfg.Store.Kind, cfg.Store.Path = config.SQLite, filepath.Join(dir, "deeper", "nod.db")
	cfg.Audit.Key = filepath.Join(dir, "nod.key")
	var store, key error
	asNobody(t, func() {
		_, store = tryStore(t.Context(), cfg, slog.New(slog.DiscardHandler))
		_, key = tryKey(t.Context(), cfg, slog.New(slog.DiscardHandler))
	})
	for _, err := range []error{store, key} {
		if err == nil || !strings.Contains(err.Error(), "may not write in "+dir) {
			t.Errorf("%v", err)
		}
	}
}

// A file that is there and can't be written is no store: SQLite would open it to be read,
// and every write would fail for as long as the program runs.
func TestStoreThatMayNotBeWritten(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "nod")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cfg := &config.Config{}
	cfg.Store.Kind, cfg.Store.Path = config.SQLite, filepath.Join(dir, "nod.db")
	s, err := sqlite.Open(t.Context(), cfg.Store.Path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	chmod(t, dir, 0o777)
	for file, mode := range map[string]os.FileMode{"nod.db": 0o444, "nod.db.lock": 0o666} {
		chmod(t, filepath.Join(dir, file), mode)
	}
	var check, open error
	asNobody(t, func() {
		_, check = tryStore(t.Context(), cfg, slog.New(slog.DiscardHandler))
		var s *sqlite.Store
		if s, open = sqlite.Open(t.Context(), cfg.Store.Path, sqlite.Options{}); open == nil {
			_ = s.Close()
		}
	})
	for _, err := range []error{check, open} {
		if err == nil || !strings.Contains(err.Error(), "nod.db can't be written") {
			t.Errorf("%v", err)
		}
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// asNobody runs f in a thread without root's rights, which is thrown away after it.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		if os.Geteuid() == 0 {
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
				done <- errno
				return
			}
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
