package audit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/memory/sqlite"
)

// Before a service signs with a key it can be tried: whether it is there, can be
// read, by nobody else, and is the one that the log was signed with so far.
func TestTry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "nod.key")
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	want := func(what string, store Noter, words, fault string) {
		t.Helper()
		found, err := Try(t.Context(), path, store)
		if fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
			t.Errorf("%s: %q, %v, want %q", what, found, err, fault)
		}
		if fault == "" && (err != nil || !strings.Contains(found, words)) {
			t.Errorf("%s: %q, %v, want %q", what, found, err, words)
		}
	}
	want("no key and no store", nil, "will be made", "")
	want("no key, nothing signed", s, "will be made", "")
	if _, err := os.Stat(path); err == nil {
		t.Error("looking at a key made it")
	}
	key, err := Key(path)
	if err != nil {
		t.Fatal(err)
	}
	want("a key, nothing signed", s, PublicHex(key), "")
	w := world{Full: s}
	w.happens(t, "1", 1)
	point, err := Sign(Checkpoint{}, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Note(t.Context(), note, point); err != nil {
		t.Fatal(err)
	}
	want("the key that signed", s, PublicHex(key), "")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	want("a key that a group may read", s, "", "chmod 600")
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	want("what is no key", s, "", "holds no key")
	if err := os.WriteFile(path, []byte(strings.Repeat("01", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	want("the key of somebody else", s, "", "all processes of a store need the same key")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want("a key that was lost", s, "", "put that one there")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	want("what can't be read", s, "", "is a directory")
}
