package volatile

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Flushed content survives a power cut. A failed flush is told once, and its content is
// lost, though it is read until then.
func TestDisk(t *testing.T) {
	t.Parallel()
	d := Mount(t, rand.New(rand.NewPCG(1, 2)))
	open := func() *os.File {
		// The runtime would ask the disk, which is in this process, whether to poll the file.
		fd, err := syscall.Open(filepath.Join(d.Dir, "a"), syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fd), "a")
	}
	f := open()
	put := func(text string, at int64) {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	have := func(want string) {
		t.Helper()
		got := make([]byte, 10)
		n, err := f.ReadAt(got, 0)
		if diff := cmp.Diff(want, string(got[:n])); diff != "" || err != io.EOF {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	put("one two", 0)
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	put("six", 4)
	d.FailFlush(false)
	if err := f.Sync(); !errors.Is(err, syscall.EIO) || d.Failed() != 1 {
		t.Errorf("a flush fails: %v", err)
	}
	if err := f.Sync(); err != nil {
		t.Errorf("the next one: %v", err)
	}
	have("one six")
	put("ten", 0)
	d.FailFlush(true)
	if err := f.Sync(); err == nil {
		t.Error("no error")
	}
	have("one two")
	if err := f.Truncate(5); err != nil {
		t.Fatal(err)
	}
	have("one t")
	_ = f.Close()
	d.Cut(All)
	f = open()
	defer func() { _ = f.Close() }()
	have("one two")
}

// A power cut takes the end of the writes, or any sectors of them.
func TestLosses(t *testing.T) {
	t.Parallel()
	seen := map[Loss]map[string]bool{All: {}, End: {}, Sectors: {}}
	rng := rand.New(rand.NewPCG(1, 2))
	for loss, found := range seen {
		for range 100 {
			f := &file{flushed: []byte("abc"), pending: []write{{at: 0, data: []byte("x")}, {at: 1, data: []byte("y")}, {at: 2, cut: true}}}
			found[string(f.survives(loss, rng))] = true
		}
	}
	all := map[string]bool{"abc": true}
	end := map[string]bool{"abc": true, "xbc": true, "xyc": true, "xy": true}
	anySectors := map[string]bool{"abc": true, "xbc": true, "xyc": true, "xy": true, "ayc": true, "ab": true, "xb": true, "ay": true}
	if diff := cmp.Diff(map[Loss]map[string]bool{All: all, End: end, Sectors: anySectors}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
