package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nod/chat"
	"nod/memory"
	"nod/memory/recent"
)

// The error of an operation answers only itself, and undoes only what it did,
// also when it takes the transaction with it.
func TestOwnError(t *testing.T) {
	t.Parallel()
	own := errors.New("own error")
	for name, fail := range map[string]func(*writer){
		"of the operation":          func(w *writer) { w.fail(own) },
		"that ends the transaction": func(w *writer) { w.fail(errors.Join(own, w.rollback())) },
		"of a statement that is broken": func(w *writer) {
			w.exec("INSERT INTO number VALUES ('ping', 1)")
			w.err = errors.Join(own, w.err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
			note := func(name string) func(*writer) {
				return func(w *writer) { w.exec("INSERT INTO number VALUES (?, 1)", name) }
			}
			errs := together(t, s, note("one"), func(w *writer) {
				note("undone")(w)
				fail(w)
			}, note("two"))
			if errs[0] != nil || !errors.Is(errs[1], own) || errs[2] != nil {
				t.Errorf("errors %v, want only the second", errs)
			}
			var names string
			if err := s.db.QueryRow("SELECT group_concat(name) FROM number WHERE name IN ('one', 'two', 'undone')").Scan(&names); err != nil || names != "one,two" {
				t.Errorf("in the file: %q, %v, want one,two", names, err)
			}
		})
	}
}

// An operation that is withdrawn before the writer has it never happens.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	open := gate(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ran := false
	o := &op{do: func(*writer) { ran = true }}
	done := make(chan error)
	go func() { done <- s.submit(ctx, o) }()
	queued(t, s, o)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("submit: %v, want %v", err, context.Canceled)
	}
	open()
	mustPut(t, s, "a", message("m1", "hi")) // behind it
	if ran {
		t.Error("it was done all the same")
	}
}

// The log in the file decides, whoever thinks that it has the thread.
func TestFencedByTheLog(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	if err := s.do(t.Context(), "seq", func(w *writer) { w.exec("UPDATE thread SET seq = seq + 1") }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), run, memory.Ended{Turn: 1}); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Commit: %v, want %v", err, memory.ErrFenced)
	}
	if _, err := s.Finish(t.Context(), run, time.Time{}); !errors.Is(err, memory.ErrFenced) {
		t.Errorf("Finish: %v, want %v", err, memory.ErrFenced)
	}
	if log, err := s.Read(t.Context(), run.Thread); err != nil || len(log) != 1 || log[0].Seq != 0 {
		t.Errorf("log %v, %v, want the message in the inbox", log, err)
	}
}

// A wake-up between the look at the file and the release is not lost.
func TestWokenWhileSpared(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	s.queue.wake("board", onBoard("a").String()) // for nothing
	h, err := s.queue.waitForThread(bounded(t), []string{"board"})
	if err != nil {
		t.Fatal(err)
	}
	if run, err := s.claim(h); run != nil || err != nil {
		t.Fatalf("claimed %v, %v, want nothing", run, err)
	}
	mustPut(t, s, "a", message("m1", "hi"))
	s.queue.release(h, ifMailed)
	if run := mustNext(t, s); run.Thread != onBoard("a") {
		t.Errorf("claimed %v", run.Thread)
	}
}

// A damaged name or row is the trouble of its own thread.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	for _, root := range []string{"bad name", "bad entry", "no entry", "good"} {
		mustPut(t, s, root, message("m-"+root, "hi"))
		run := mustNext(t, s)
		if _, err := s.Commit(t.Context(), run, memory.Posted{Key: memory.AskName("c1"), Ref: message("ask-"+root, "").Ref}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, s)
	shell := beside(t, path)
	mustExec(t, shell, `UPDATE thread SET name = '%zz', last_ref = 'x' WHERE name LIKE '%bad%20name';
		UPDATE entry SET body = x'00ff' WHERE id IN (SELECT entry FROM log l JOIN thread t ON t.id = l.thread WHERE t.name LIKE '%bad%20entry');
		DELETE FROM entry WHERE id IN (SELECT entry FROM log l JOIN thread t ON t.id = l.thread WHERE t.name LIKE '%no%20entry')`)
	var said lines
	s = mustOpen(t, path, Options{Logger: said.logger()})
	logs := map[string]string{}
	for range 3 {
		run := mustNext(t, s)
		var kinds []string
		for _, e := range run.Log {
			kinds = append(kinds, e.Body.Kind())
		}
		logs[run.Thread.Root] = strings.Join(kinds, " ")
		if _, err := s.Commit(t.Context(), run, memory.Ended{Turn: 1}); err != nil {
			t.Error(err)
		}
	}
	want := map[string]string{"bad entry": "broken broken", "no entry": "broken broken", "good": "message posted"}
	for root, kinds := range want {
		if logs[root] != kinds {
			t.Errorf("log of %s: %q, want %q", root, logs[root], kinds)
		}
	}
	if n := said.count("thread is unreadable and put aside"); n != 1 {
		t.Errorf("said %d times that a thread is put aside, want once", n)
	}
	n := 0
	for _, err := range s.Pending(t.Context(), "board") {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d approvals are pending, want those of the 3 others", n)
	}
	n = 0
	for _, err := range s.Watermarks(t.Context(), "board", time.Time{}, 0) {
		if err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 3 {
		t.Errorf("%d watermarks, want those of the 3 others", n)
	}
}

// A file is locked under all its names, also before there is a file.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, names := range [][2]string{{"nod.db", "link.db"}, {"link.db", "nod.db"}, {"link.db", "link.db"}, {"folder/nod.db", "link.db"}} {
		t.Run(names[0]+" and "+names[1], func(t *testing.T) {
			dir := filepath.Join(dir, t.Name())
			if err := os.MkdirAll(filepath.Join(dir, "real"), 0o700); err != nil {
				t.Fatal(err)
			}
			for from, to := range map[string]string{"link.db": "real/nod.db", "folder": "real", "nod.db": "folder/nod.db"} {
				if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
					t.Fatal(err)
				}
			}
			s := mustOpen(t, filepath.Join(dir, names[0]), Options{})
			if _, err := Open(t.Context(), filepath.Join(dir, names[1]), Options{}); !errors.Is(err, ErrInUse) {
				t.Errorf("Open by another name: %v, want %v", err, ErrInUse)
			}
			mustClose(t, s)
			mustClose(t, mustOpen(t, filepath.Join(dir, names[1]), Options{}))
		})
	}
}

// A cached log counts only as far as the file has it.
func TestFileDecides(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	if _, err := s.Commit(t.Context(), run, memory.Ended{Turn: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Finish(t.Context(), run, time.Time{}); err != nil {
		t.Fatal(err)
	}
	s.recent.Put(recent.Log{Thread: run.Thread.String(), Entries: append(run.Log, memory.Entry{Seq: 3, Body: memory.Ended{Turn: 2}})})
	mustPut(t, s, "a", message("m2", "hi"))
	if run = mustNext(t, s); len(run.Log) != 3 || run.Log[2].Body.Kind() != "message" || run.Log[2].Seq != 3 {
		t.Errorf("log %v, want two entries of the file and the message", run.Log)
	}
}

// A long audit log is read whole, page by page; a line that is damaged is an error
// in its place, and the rest comes.
func TestLongAudit(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	const n = 2*pageSize + 7
	err := s.do(t.Context(), "audit", func(w *writer) {
		w.audit(slices.Repeat([]memory.AuditLine{{Thread: onBoard("a")}}, n))
		w.exec("UPDATE audit SET line = x'ff' WHERE id = ?", pageSize)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range []chat.ThreadID{{}, onBoard("a")} {
		var lines, damaged int
		for line, err := range s.Audit(t.Context(), thread) {
			if err != nil {
				damaged++
			} else if line.Seq != uint64(lines+damaged+1) {
				t.Fatalf("line %d after %d lines", line.Seq, lines+damaged)
			} else {
				lines++
			}
		}
		if lines != n-1 || damaged != 1 {
			t.Errorf("%d lines and %d errors, want %d and 1", lines, damaged, n-1)
		}
	}
}

// An earlier process may have acted on the inbox that it left, also where the clock was
// set back since.
func TestGivenBeforeARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	clock := &clock{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	s := mustOpen(t, path, Options{Now: clock.now})
	mustPut(t, s, "a", message("m1", "hi"))
	if run := mustNext(t, s); run.Claimed != 1 {
		t.Errorf("the first run's entries begin at %d, want 1", run.Claimed)
	}
	mustClose(t, s)
	clock.pass(-2 * time.Second)
	s = mustOpen(t, path, Options{Now: clock.now})
	mustPut(t, s, "a", message("m2", "hi"))
	if run := mustNext(t, s); run.Claimed != 2 || len(run.Log) != 2 {
		t.Errorf("after a restart the new entries begin at %d of %d, want 2 of 2", run.Claimed, len(run.Log))
	}
}

// An event id is known for as long as a platform may deliver it again.
func TestEventsAreKnown(t *testing.T) {
	t.Parallel()
	clock := &clock{at: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Now: clock.now})
	put := func() bool {
		t.Helper()
		if err := s.portions(part{do: s.sweepEvents}); err != nil {
			t.Fatal(err)
		}
		fresh, err := s.Put(bounded(t), onBoard("a"), message("m1", "hi"), "e1")
		if err != nil {
			t.Fatal(err)
		}
		return fresh
	}
	put()
	clock.pass(72*time.Hour - time.Second)
	if put() {
		t.Error("within 72 hours the event was taken twice")
	}
	clock.pass(2 * time.Second)
	if !put() {
		t.Error("after 72 hours the event is still known")
	}
}
