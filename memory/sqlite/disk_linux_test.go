package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nod/memory"
)

// tiny is a folder on a disk of its own that is nearly full at once.
func tiny(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("a small disk can't be mounted here:", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A disk that is really full: a file that does not fit, then nothing at all fits,
// then there is room again.
func TestFullDiskForReal(t *testing.T) {
	t.Parallel()
	dir := tiny(t)
	var said lines
	s, err := Open(t.Context(), filepath.Join(dir, "nod.db"), Options{Logger: said.logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	for i := range 3 {
		if _, err := s.PutBlob(bounded(t), run.Thread, make([]byte, 6<<20)); err == nil {
			t.Fatal("a file of 6 MB is on a disk of 3")
		}
		mustPut(t, s, "b", message(fmt.Sprint("m2-", i), "beside it"))
	}
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = filler.Write(make([]byte, 512))
	}
	_ = filler.Close()
	long := strings.Repeat("x", 50_000)
	refused := 0
	for i := range 200 { // what the files have of room already is used up first
		if _, err := s.Put(bounded(t), onBoard("c"), message(fmt.Sprint("m3-", i), long)); err != nil {
			if refused++; refused > 3 {
				break
			}
		}
	}
	if refused <= 3 {
		t.Fatal("10 MB are on a disk of 3")
	}
	var ping error
	for range 100 { // of a page each
		if ping = s.Ping(bounded(t)); ping != nil {
			break
		}
	}
	if ping == nil {
		t.Error("Ping of a store whose disk is full: no error")
	}
	big := memory.Step{Turn: 1, N: 1, Answer: strings.Repeat("x", 2<<20)}
	if _, err := s.Commit(bounded(t), run, big); err == nil || errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want an error that can be repeated", err)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(bounded(t), run, big); err != nil {
		t.Error(err)
	}
	if more, err := s.Finish(bounded(t), run, s.now().Add(20*time.Millisecond)); err != nil || more {
		t.Error(more, err)
	}
	got := map[string]bool{}
	for range 3 {
		got[mustNext(t, s).Thread.Root] = true
	}
	if len(got) != 3 {
		t.Errorf("claimed %v, want b, c, and a whose deadline passed", got)
	}
	if said.count("store takes no writes") == 0 || said.count("store takes no writes") != said.count("store takes writes again") {
		t.Errorf("said %q", said.buf.String())
	}
}
