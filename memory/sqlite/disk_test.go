package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/memory"
)

// A file for which the disk has no room is refused; the messages that others write
// meanwhile are not, and everybody is answered.
func TestFileThatDoesNotFit(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	fill(t, s, 1000)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for k := range 20 {
				root := fmt.Sprintf("%d", g)
				if _, err := s.Put(bounded(t), onBoard(root), message(fmt.Sprintf("m%d-%d", g, k), "hi"), fmt.Sprintf("e%d-%d", g, k)); err != nil {
					t.Errorf("Put beside a file that does not fit: %v", err)
				}
			}
		})
	}
	for range 5 {
		_, err := s.PutBlob(bounded(t), onBoard("big"), make([]byte, 6<<20))
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("PutBlob: %v, want that the disk is full", err)
		}
	}
	wg.Wait()
	for g := range 16 {
		if log, err := s.Read(t.Context(), onBoard(fmt.Sprint(g))); err != nil || len(log) != 20 {
			t.Errorf("%d messages in thread %d, %v, want 20", len(log), g, err)
		}
	}
	mustClose(t, s)
}

// A full disk refuses puts, loses no run, and is logged once. With room again
// everything goes on: the same commit, the deadline, the inbox.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	var said lines
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Logger: said.logger()})
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	mustPut(t, s, "parked", message("m0", "hi"))
	parked := mustNext(t, s)
	if _, err := s.Finish(t.Context(), parked, s.now().Add(100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	fill(t, s, 0)
	long := strings.Repeat("x", 100_000)
	for i := range 3 {
		if _, err := s.Put(bounded(t), onBoard("b"), message("m2", long), "e2"); err == nil {
			t.Fatalf("Put %d on a full disk: no error", i)
		}
		step := memory.Step{Turn: 1, N: 1, Answer: long}
		if _, err := s.Commit(bounded(t), run, step); err == nil || errors.Is(err, memory.ErrFenced) {
			t.Fatalf("Commit %d on a full disk: %v, want an error that can be repeated", i, err)
		}
	}
	nothing := func(*writer) {} // as a sweep that finds nothing
	grow := func(w *writer) {
		w.exec(ping)
		w.exec("CREATE TABLE big AS SELECT zeroblob(1000000)")
	}
	if errs := together(t, s, nothing, grow); errs[0] != nil || errs[1] == nil {
		t.Errorf("what writes nothing, beside what finds no room: %v", errs)
	}
	if err := s.do(bounded(t), "sweep", nothing); err != nil {
		t.Error(err)
	}
	if _, err := s.Put(bounded(t), onBoard("b"), message("m2", long), "e2"); err == nil {
		t.Error("Put on a full disk: no error")
	}
	if _, lost := run.Bell.Take(); lost {
		t.Error("the run is lost")
	}
	if n := said.count("store takes no writes"); n != 1 {
		t.Errorf("said %d times that the store takes no writes, want once", n)
	}
	due := mustNext(t, s) // a claim writes nothing
	if due.Thread != parked.Thread || due.Log[len(due.Log)-1].Body != (memory.Due{}) {
		t.Errorf("claimed %v, want the one whose deadline passed", due.Thread)
	}

	empty(t, s)
	if err := s.Ping(bounded(t)); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "c", message("m3", "hi")) // by then it is said
	if n := said.count("store takes writes again"); n != 1 {
		t.Errorf("said %d times that the store takes writes again, want once", n)
	}
	if _, err := s.Commit(bounded(t), run, memory.Step{Turn: 1, N: 1, Answer: long}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(bounded(t), due, time.Time{}); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "b", message("m2", long), "e2")
	if log, err := s.Read(t.Context(), run.Thread); err != nil || len(log) != 2 {
		t.Errorf("%d entries, %v, want 2: the message and one step", len(log), err)
	}
	mustClose(t, s)
}

// Ping knows of a file that can't be written, and of one that can again.
func TestPingWrites(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	if err := s.Ping(bounded(t)); err != nil {
		t.Fatal(err)
	}
	set(t, s, "query_only", 1)
	if err := s.Ping(bounded(t)); err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("Ping: %v, want that the file is read-only", err)
	}
	set(t, s, "query_only", 0)
	eventually(t, "writes are taken again", func() bool { return s.Ping(bounded(t)) == nil })
}

// While another process holds a write transaction, puts are refused or wait for it. A
// caller with a deadline may leave, no run is lost, and then everything goes on.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	var said lines
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{Logger: said.logger()})
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	set(t, s, "busy_timeout", 50)
	shell := beside(t, path)
	mustExec(t, shell, "BEGIN IMMEDIATE")
	if _, err := s.Put(bounded(t), onBoard("b"), message("m2", "hi"), "e2"); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("Put: %v, want that the file is locked", err)
	}
	if _, err := s.Commit(bounded(t), run, memory.Ended{Turn: 1}); err == nil || errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want an error that can be repeated", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Put(short, onBoard("c"), message("m3", "hi"), "e3"); err == nil {
		t.Error("Put with a deadline: no error")
	}
	if err := s.Ping(bounded(t)); err == nil {
		t.Error("Ping: no error")
	}
	mustExec(t, shell, "ROLLBACK")
	eventually(t, "a commit that is repeated is taken", func() bool {
		_, err := s.Commit(bounded(t), run, memory.Ended{Turn: 1})
		return err == nil
	})
	mustPut(t, s, "b", message("m2", "hi"), "e2")
	mustPut(t, s, "c", message("m3", "hi"), "e3")
	if n := said.count("store takes no writes"); n != 1 {
		t.Errorf("said %d times that the store takes no writes, want once", n)
	}
	if log, err := s.Read(t.Context(), run.Thread); err != nil || len(log) != 2 {
		t.Errorf("%d entries, %v, want 2", len(log), err)
	}
}

// Close ends though the file is locked and somebody waits, who is answered.
func TestCloseOfALockedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	set(t, s, "busy_timeout", 50)
	shell := beside(t, path)
	mustExec(t, shell, "BEGIN IMMEDIATE")
	answers := make(chan error, 8)
	for i := range cap(answers) {
		go func() {
			_, err := s.Put(context.Background(), onBoard("a"), message("m1", "hi"), fmt.Sprint(i))
			answers <- err
		}()
	}
	mustClose(t, s)
	for range cap(answers) {
		select {
		case err := <-answers:
			if err == nil {
				t.Error("Put: no error, though nothing can be written")
			}
		case <-bounded(t).Done():
			t.Fatal("somebody is never answered")
		}
	}
	mustExec(t, shell, "ROLLBACK")
}
