package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/memory"
)

// lines is a log that a test reads while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), what)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// bounded is a context for what has to happen soon.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := bounded(t)
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain until %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func mustPut(t *testing.T, s *Store, root string, b memory.Body, ids ...string) {
	t.Helper()
	if fresh, err := s.Put(bounded(t), onBoard(root), b, ids...); err != nil || !fresh {
		t.Fatalf("Put in %s = %v, %v", root, fresh, err)
	}
}

func mustNext(t *testing.T, s *Store) *memory.Run {
	t.Helper()
	run, err := s.Next(bounded(t), "board")
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return run
}

// set sets a pragma of the connection that writes.
func set(t *testing.T, s *Store, name string, value int) {
	t.Helper()
	if err := s.w.pragma(name, value); err != nil {
		t.Fatal(err)
	}
}

// fill leaves room for so many pages more, as a disk that is nearly full does.
func fill(t *testing.T, s *Store, free int) {
	t.Helper()
	var pages int
	if err := s.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	set(t, s, "max_page_count", pages+free)
}

func empty(t *testing.T, s *Store) {
	t.Helper()
	set(t, s, "max_page_count", 1<<30)
}

func mustClose(t *testing.T, s *Store) {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("Close: %v", err)
		}
	case <-bounded(t).Done():
		t.Fatal("Close hangs")
	}
}

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

// A disk that is full refuses what is put, loses no run, and says so once. With
// room again everything goes on: the same commit, the deadline, the inbox.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	var said lines
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Logger: said.logger()})
	mustPut(t, s, "parked", message("m0", "hi"))
	parked := mustNext(t, s)
	if _, err := s.Finish(t.Context(), parked, s.now().Add(100*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	if run.Thread == parked.Thread {
		t.Fatal("the deadline came before the disk was full; the machine is too slow for this test")
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
	if err := s.Ping(bounded(t)); err != nil {
		t.Error(err)
	}
}

// beside opens the file as another process does.
func beside(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := database(path, "rw", 1, "busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = db.Close() })
	return conn
}

func mustExec(t *testing.T, conn *sql.Conn, script string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
}

// While another process holds a write transaction what is put is refused or waits
// for it, whoever has a deadline may go away, no run is lost, and then all goes on.
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

// gate holds the writer up, so that what is put meanwhile is one transaction.
func gate(t *testing.T, s *Store) (open func()) {
	t.Helper()
	closed, entered := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	go func() {
		_ = s.do(context.Background(), func(*writer) error {
			enter()
			<-closed
			return nil
		})
	}()
	<-entered
	open = sync.OnceFunc(func() { close(closed) })
	t.Cleanup(open)
	return open
}

// queued waits until an operation waits for the writer.
func queued(t *testing.T, s *Store, o *op) {
	t.Helper()
	eventually(t, "the operation waits", func() bool {
		s.ops.mu.Lock()
		defer s.ops.mu.Unlock()
		return slices.Contains(s.ops.ops, o)
	})
}

// together runs operations as one transaction and gives their errors.
func together(t *testing.T, s *Store, ops ...func(*writer) error) []error {
	t.Helper()
	open := gate(t, s)
	errs := make([]error, len(ops))
	var wg sync.WaitGroup
	for i, f := range ops {
		o := &op{do: f}
		wg.Go(func() { errs[i] = s.submit(context.Background(), o) })
		queued(t, s, o)
	}
	open()
	wg.Wait()
	return errs
}

// The error of an operation answers only itself, and undoes only what it did,
// also when it takes the transaction with it.
func TestOwnError(t *testing.T) {
	t.Parallel()
	own := errors.New("own error")
	for name, fail := range map[string]func(*writer) error{
		"of the operation":              func(*writer) error { return own },
		"that ends the transaction":     func(w *writer) error { return errors.Join(own, w.rollback()) },
		"of a statement that is broken": func(w *writer) error { return errors.Join(own, w.run("INSERT INTO number VALUES ('ping', 1)")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
			note := func(name string) func(*writer) error {
				return func(w *writer) error { return w.run("INSERT INTO number VALUES (?, 1)", name) }
			}
			errs := together(t, s, note("one"), func(w *writer) error {
				if err := note("undone")(w); err != nil {
					return err
				}
				return fail(w)
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

// What is taken back before the writer has it is never done.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	open := gate(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	ran := false
	o := &op{do: func(*writer) error { ran = true; return nil }}
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
	if err := s.do(t.Context(), func(w *writer) error { return w.run("UPDATE thread SET seq = seq + 1") }); err != nil {
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

// What wakes a thread between the look at the file and the release is not lost.
func TestWokenWhileSpared(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	s.queue.wake("board", onBoard("a").String()) // for nothing
	h, err := s.queue.take(bounded(t), []string{"board"})
	if err != nil {
		t.Fatal(err)
	}
	if run, err := s.claim(h); run != nil || err != nil {
		t.Fatalf("claimed %v, %v, want nothing", run, err)
	}
	mustPut(t, s, "a", message("m1", "hi"))
	s.queue.spare(h)
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
	if n := said.count("can't be read; it is put aside"); n != 1 {
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
	for _, err := range s.Watermarks(t.Context(), "board", time.Time{}) {
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

// holds says which of the store's files hold a text.
func holds(t *testing.T, path, text string) (in []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			in = append(in, "nod.db"+suffix)
		}
	}
	return in
}

const secret = "the word is swordfish"

// tell has a thread hold a secret: in a message, a short and a long result, and a
// file, among other things.
func tell(t *testing.T, s *Store, root string) *memory.Run {
	t.Helper()
	mustPut(t, s, root, message("m1", secret))
	run := mustNext(t, s)
	for i := range 20 {
		b := memory.Result{Call: fmt.Sprint(i), Text: strings.Repeat(secret, 1+i*i)}
		if _, err := s.Commit(t.Context(), run, b, memory.Started{Call: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.PutBlob(t.Context(), run.Thread, []byte(strings.Repeat(secret, 1000))); err != nil {
		t.Fatal(err)
	}
	return run
}

// What is forgotten is in no file afterwards, though somebody reads the file: then
// as soon as that ends, and meanwhile nobody waits.
func TestForgottenForGood(t *testing.T) {
	t.Parallel()
	var said lines
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{Logger: said.logger()})
	run := tell(t, s, "a")
	reader := beside(t, path)
	mustExec(t, reader, "BEGIN")
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM entry").Scan(&n); err != nil {
		t.Fatal(err)
	}
	forgot := memory.Forgot{Before: run.Log[len(run.Log)-1].Seq + 1}
	if _, err := s.Commit(bounded(t), run, forgot); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is said that erased text is still there", func() bool { return said.count("erased text is still") == 1 })
	mustPut(t, s, "b", message("m2", "hi"))
	if len(holds(t, path, secret)) == 0 {
		t.Error("the secret is gone, though a reader may still see it: the test shows nothing")
	}
	mustExec(t, reader, "COMMIT")
	eventually(t, "the secret is gone", func() bool { return len(holds(t, path, secret)) == 0 })
	eventually(t, "that is said", func() bool { return said.count("erased text is gone") == 1 })
	if n := said.count("erased text is still"); n != 1 {
		t.Errorf("said %d times that erased text is still there, want once", n)
	}
}

// So is what is erased because its time is over, and a file that is dropped.
func TestExpiredForGood(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{Keep: 10 * time.Millisecond, SweepEvery: 5 * time.Millisecond})
	run := tell(t, s, "a")
	if _, err := s.Finish(t.Context(), run, time.Time{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the secret is gone", func() bool { return len(holds(t, path, secret)) == 0 })

	name, err := s.PutBlob(t.Context(), run.Thread, []byte(strings.Repeat("another secret", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DropBlob(t.Context(), run.Thread, name); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the file is gone", func() bool { return len(holds(t, path, "another secret")) == 0 })
}

// What a process had no time to erase is erased by the next one.
func TestErasedByTheNextProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "nod.db")
	s := mustOpen(t, path, Options{})
	run := tell(t, s, "a")
	if _, err := s.Commit(bounded(t), run, memory.Forgot{Before: run.Log[len(run.Log)-1].Seq + 1}); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	mustOpen(t, path, Options{})
	eventually(t, "the secret is gone", func() bool { return len(holds(t, path, secret)) == 0 })
}

// clock is a clock that a test turns.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// What an erased thread leaves behind is deleted once it has served, and its Seq
// never comes again all the same.
func TestRemains(t *testing.T) {
	t.Parallel()
	const keep = time.Hour
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Keep: keep, KeepAudit: 100 * 24 * time.Hour, Now: c.now, SweepEvery: time.Millisecond})
	rows := func(what, query string, want int) func() bool {
		return func() bool {
			t.Helper()
			var n int
			if err := s.db.QueryRow(query).Scan(&n); err != nil {
				t.Fatal(what, err)
			}
			return n == want
		}
	}
	started := memory.Started{Call: "c1", Tool: "deploy"}
	for i, root := range []string{"expires", "forgotten"} {
		mustPut(t, s, root, message(fmt.Sprint("m", i), "hi"))
		run := mustNext(t, s)
		if _, err := s.Commit(t.Context(), run, started, memory.Ended{Turn: 1}); err != nil {
			t.Fatal(err)
		}
		if root == "forgotten" {
			if _, err := s.Commit(t.Context(), run, memory.Forgot{Before: 4}); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Handoff(t.Context(), run) }() // held: its time is never over
			continue
		}
		if _, err := s.Finish(t.Context(), run, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	c.pass(keep + time.Minute)
	eventually(t, "the thread is erased", rows("gone", "SELECT count(*) FROM thread WHERE gone = 1", 1))
	if !rows("started", "SELECT count(*) FROM entry WHERE kind = 'started'", 2)() {
		t.Error("a started entry is gone before its time")
	}
	c.pass(keep + memory.EventTTL + time.Minute)
	eventually(t, "its row is deleted", rows("rows", "SELECT count(*) FROM thread", 1))
	eventually(t, "what was started is deleted", rows("started", "SELECT count(*) FROM entry WHERE kind = 'started'", 0))
	if log, err := s.Read(t.Context(), onBoard("forgotten")); err != nil || len(log) != 1 || log[0].Seq != 4 {
		t.Errorf("log of the other thread: %v, %v, want its Forgot with Seq 4", log, err)
	}
	if !rows("audit", "SELECT count(*) FROM audit", 2)() {
		t.Error("an audit line is gone before its time")
	}
	mustPut(t, s, "expires", message("m9", "again"))
	run := mustNext(t, s)
	if run.Thread != onBoard("expires") || len(run.Log) != 1 || run.Log[0].Seq != 4 {
		t.Errorf("the thread begins again as %v, want Seq 4: up to 3 were used", run.Log)
	}
	c.pass(100 * 24 * time.Hour)
	eventually(t, "the audit lines are deleted", rows("audit", "SELECT count(*) FROM audit", 0))
}

// A portion of the sweep looks at no more than it deletes, however many threads
// there are: every query of it has an index.
func TestSweepPlans(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Keep: time.Hour, KeepAudit: time.Hour})
	mustPut(t, s, "a", message("m1", "hi"))
	before := map[string]bool{}
	var queries []string
	err := s.do(t.Context(), func(w *writer) error {
		for q := range w.stmts {
			before[q] = true
		}
		if err := w.run("UPDATE thread SET woken = 0, touched = 0"); err != nil {
			return err
		}
		if err := w.run("INSERT INTO waiting VALUES (x'00', 99, 0)"); err != nil {
			return err
		}
		if err := w.run("INSERT INTO rubbish VALUES (99)"); err != nil {
			return err
		}
		if err := w.run("INSERT INTO remains VALUES (77, 1, 0)"); err != nil {
			return err
		}
		for _, part := range []func(*writer) (int, error){s.sweepEvents, s.sweepWaiting, s.sweepCounters, s.expire, s.sweepRemains, s.sweepAudit, s.sweepRubbish} {
			if _, err := part(w); err != nil {
				return err
			}
		}
		for q := range w.stmts {
			if !before[q] && !strings.HasPrefix(q, "INSERT INTO") && q != "UPDATE thread SET woken = 0, touched = 0" {
				queries = append(queries, q)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(queries) < 12 {
		t.Fatalf("only %d queries are seen: %q", len(queries), queries)
	}
	for _, q := range queries {
		args := make([]any, strings.Count(q, "?"))
		rows, err := s.db.Query("EXPLAIN QUERY PLAN "+q, args...)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		plan, err := gather(rows, func(r *sql.Rows) (detail string, err error) {
			var a, b, c int
			return detail, r.Scan(&a, &b, &c, &detail)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range plan {
			if strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "SCAN (subquery") && !strings.HasPrefix(line, "SCAN audit") && !strings.HasPrefix(line, "SCAN rubbish") {
				t.Errorf("%s\n\t%s", q, line)
			}
		}
	}
}
