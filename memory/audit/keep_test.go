package audit

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/memory"
	"nod/memory/sqlite"
)

// A key is made once, for its owner only, and stays the same. A file without a key is
// an error and is not overwritten.
func TestKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "nod.key")
	if key, err := FindKey(path); key != nil || err != nil {
		t.Errorf("FindKey = %v, %v, want none", key, err)
	}
	one, err := Key(path)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Key(path)
	if err != nil || !one.Equal(two) {
		t.Errorf("another key the second time, %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("%d files, %v, want the key alone", len(files), err)
	}
	if p, err := ParsePublic(PublicHex(one)); err != nil || !p.Equal(public(one)) {
		t.Errorf("ParsePublic: %v", err)
	}
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Key(path); err == nil || strings.Contains(err.Error(), "no key\n") {
		t.Errorf("Key of a file that holds none: %v", err)
	}
}

// A store that comes back older than its checkpoint fails a check, although it is sound
// in itself. When the service notices, each thread that lost lines gets one line that
// says so, under a new epoch.
func TestOlderStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, beside := filepath.Join(dir, "nod.db"), filepath.Join(dir, "nod.key.checkpoint")
	open := func() world {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return world{Full: s}
	}
	w := open()
	w.happens(t, "1", 1)
	w.happens(t, "2", 1)
	w.keeper(t, beside)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w = open()
	w.happens(t, "1", 2)
	if err := w.keeper(t, beside).Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}

	w = open()
	defer func() { _ = w.Close() }()
	raw, err := ReadBeside(beside)
	if err != nil {
		t.Fatal(err)
	}
	check := func(raw []byte) []Fault {
		t.Helper()
		r, err := VerifyStore(t.Context(), w, public(testKey()), raw)
		if err != nil {
			t.Fatal(err)
		}
		return r.Faults
	}
	if faults := check(raw); len(faults) != 1 || faults[0] != (Fault{"test/c1/1", 6, CutOff}) {
		t.Errorf("of a store that is older: %v, want that thread 1 is cut off", faults)
	}
	k := w.keeper(t, beside)
	if k.last.Epoch != 2 {
		t.Errorf("epoch %d, want 2", k.last.Epoch)
	}
	run, err := w.Next(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context(), run, memory.Ended{Turn: 1}); err != nil {
		t.Fatal(err)
	}
	if err := k.Sign(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.keeper(t, beside) // which says it no second time
	lost := 0
	for _, l := range w.lines(t) {
		if line, _ := memory.DecodeLine(l.Raw); line.Event == "lost" && line.Thread.Root == "1" && line.Seq == 6 {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d lines say that lines were lost, want one in thread 1", lost)
	}
	if raw, err = ReadBeside(beside); err != nil {
		t.Fatal(err)
	}
	if faults := check(raw); len(faults) > 0 {
		t.Errorf("once that is known: %v", faults)
	}
}

// A check of a log finds no fault while the log is written.
func TestVerifyWhileWritten(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) world{"sqlite": openSQLite, "redis": openRedis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			w.happens(t, "1", 1)
			w.keeper(t, "")
			r, err := VerifyStore(t.Context(), busy{w, t}, public(testKey()), nil)
			if err != nil || len(r.Faults) > 0 {
				t.Errorf("%v, %v, want no fault", r, err)
			}
		})
	}
}

// busy is written to right before its lines are read, and right behind the last one.
type busy struct {
	world
	t *testing.T
}

func (b busy) Lines(ctx context.Context) iter.Seq2[memory.KeptLine, error] {
	return func(yield func(memory.KeptLine, error) bool) {
		b.happens(b.t, "1", 2)
		b.happens(b.t, "2", 3)
		for l, err := range b.world.Lines(ctx) {
			if !yield(l, err) {
				return
			}
		}
		b.happens(b.t, "1", 4)
		b.happens(b.t, "3", 5)
	}
}
