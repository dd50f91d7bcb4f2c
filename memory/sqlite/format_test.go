package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nod/chat"
	"nod/memory"
)

func onBoard(root string) chat.ThreadID {
	return chat.ThreadID{Platform: "board", Channel: "c", Root: root}
}

func message(id, text string) memory.Message {
	return memory.Message{Message: chat.Message{Ref: chat.MessageRef{Platform: "board", Channel: "c", ID: id}, From: chat.User{ID: "ada"}, Text: text}}
}

func mustOpen(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// written makes a file with an entry in it.
func written(t *testing.T, format int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	if _, err := s.Put(t.Context(), onBoard("a"), message("m1", "hi")); err != nil {
		t.Fatal(err)
	}
	if err := s.do(t.Context(), "format", func(w *writer) { w.exec(fmt.Sprintf("PRAGMA user_version = %d", format)) }); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	return path
}

// unchangedFile says after the test of a file that it is as it was, with nothing beside it.
func unchangedFile(t *testing.T, path string) (check func()) {
	t.Helper()
	files := func() []string {
		t.Helper()
		names, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	beside := files()
	return func() {
		t.Helper()
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) || !slices.Equal(beside, files()) {
			t.Errorf("the file was changed (%v), or something is beside it: %q", err, files())
		}
	}
}

// A file of another format is refused in the words of the contract, and neither
// opening nor looking at it changes anything.
func TestOtherFormats(t *testing.T) {
	t.Parallel()
	for have, want := range map[int]string{
		1:          "store: format 1; this build reads 5: a build before 0.1.0 wrote it",
		format - 1: "store: format 4; this build reads 5: a build before 0.1.0 wrote it",
		7:          "store: format 7; this build reads 5",
	} {
		path := written(t, have)
		check := unchangedFile(t, path)
		_, opened := Open(t.Context(), path, Options{})
		_, viewed := View(t.Context(), path)
		for what, err := range map[string]error{"Open": opened, "View": viewed} {
			if !errors.Is(err, memory.FormatError{Have: have, Reads: format}) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		check()
	}
}

// Looking at a file changes nothing.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	path := written(t, format)
	check := unchangedFile(t, path)
	v, err := View(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if log, err := v.Read(t.Context(), onBoard("a")); err != nil || len(log) != 1 {
		t.Errorf("read %v, %v", log, err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	check()
}

// A database of another program is left alone.
func TestAnotherProgramsFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := database(path, "rwc", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE addresses (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	_, err = Open(t.Context(), path, Options{})
	if err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("Open: %v, want that it is refused", err)
	}
	after, _ := os.ReadFile(path)
	if !slices.Equal(before, after) {
		t.Error("the file was changed")
	}
}

// Nobody else can read the file, with any umask: it holds conversations.
func TestFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	if _, err := s.Put(t.Context(), onBoard("1"), message("m", "hi"), "e"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", filepath.Base(f), info.Mode(), err)
		}
	}
}
