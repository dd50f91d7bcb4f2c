package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"nod/chat"
	"nod/internal/storetest"
	"nod/memory"
	"nod/memory/sqlite"
)

// A file passes the contract that a Redis server passes.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, o storetest.Options) storetest.Instance {
		return open(t, filepath.Join(t.TempDir(), "nod.db"), o)
	})
}

// open opens the file for one process of the suite. Close is how a process of
// this store dies: the kernel does the same with the lock of a killed one.
func open(t *testing.T, path string, o storetest.Options) storetest.Instance {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Keep: o.Keep, Quota: o.Quota, SweepEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return storetest.Instance{
		Store: s,
		Crash: func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		},
		Reopen: func(t *testing.T) storetest.Instance { return open(t, path, o) },
	}
}

// A file that another process has is refused in words, not shared.
func TestOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	open(t, path, storetest.Options{})
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, sqlite.ErrInUse) {
		t.Fatalf("second Open: %v, want ErrInUse", err)
	}
}

// The audit log can be read beside the process that writes it.
func TestView(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := open(t, path, storetest.Options{}).Store
	thread := chat.ThreadID{Platform: "slack", Channel: "C", Root: "1"}
	if _, err := s.Put(t.Context(), thread, memory.Message{Message: chat.Message{Text: "hi"}}); err != nil {
		t.Fatal(err)
	}
	run, err := s.Next(t.Context(), "slack")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), run, memory.Started{Call: "1-1-1", Tool: "deploy", Digest: "d"}); err != nil {
		t.Fatal(err)
	}
	v, err := sqlite.View(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	var got []string
	for line, err := range v.Audit(t.Context(), thread) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, line.Event+" "+line.Tool)
	}
	if len(got) != 1 || got[0] != "started deploy" {
		t.Errorf("audit beside the writer: %q, want [started deploy]", got)
	}
}
