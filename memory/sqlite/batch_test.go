package sqlite

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
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
	if err := w.begin(); err != nil {
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
