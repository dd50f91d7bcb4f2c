package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nod/memory"
)

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

// A forgotten text is in no file afterwards. If somebody reads the file, it goes as
// soon as they stop, and meanwhile nobody waits.
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

// The next process finishes an erasure, after a closed process and after a killed one.
func TestErasedByTheNextProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, killed := filepath.Join(dir, "nod.db"), filepath.Join(dir, "killed.db")
	s := mustOpen(t, path, Options{})
	run := tell(t, s, "a")
	reader := beside(t, path) // holds the purge up
	mustExec(t, reader, "BEGIN; SELECT count(*) FROM entry")
	if _, err := s.Commit(bounded(t), run, memory.Forgot{Before: run.Log[len(run.Log)-1].Seq + 1}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the files are erased from the tables", func() bool {
		var n int
		return s.db.QueryRow("SELECT count(*) FROM rubbish").Scan(&n) == nil && n == 0
	})
	for _, suffix := range []string{"", "-wal"} { // what a killed process leaves
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if len(holds(t, killed, secret)) == 0 {
		t.Error("the secret is gone already: the test shows nothing")
	}
	mustExec(t, reader, "ROLLBACK")
	mustClose(t, s)
	for _, path := range []string{path, killed} {
		mustOpen(t, path, Options{})
		eventually(t, "the secret is gone", func() bool { return len(holds(t, path, secret)) == 0 })
	}
}

// The remains of an erased thread are deleted in the end, and its Seq still never comes
// again.
func TestRemains(t *testing.T) {
	t.Parallel()
	const keep = time.Hour
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Keep: keep, Now: c.now, SweepEvery: time.Millisecond})
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
	if !rows("audit", "SELECT count(*) FROM audit", 4)() { // started twice, forgotten, and kept no longer
		t.Error("an audit line is gone")
	}
	mustPut(t, s, "expires", message("m9", "again"))
	run := mustNext(t, s)
	if run.Thread != onBoard("expires") || len(run.Log) != 1 || run.Log[0].Seq != 4 {
		t.Errorf("the thread begins again as %v, want Seq 4: up to 3 were used", run.Log)
	}
}

// A portion of the sweep looks at no more than it deletes, however many threads
// there are: every query of it has an index.
func TestSweepPlans(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Keep: time.Hour})
	mustPut(t, s, "a", message("m1", "hi"))
	before := map[string]bool{}
	var queries []string
	err := s.do(t.Context(), "sweep", func(w *writer) {
		for q := range w.stmts {
			before[q] = true
		}
		w.exec("UPDATE thread SET woken = 0, touched = 0")
		w.exec("INSERT INTO waiting VALUES (x'00', 99, 0)")
		w.exec("INSERT INTO rubbish VALUES (99)")
		w.exec("INSERT INTO remains VALUES (77, 1, 0)")
		for _, part := range []func(*writer) int{s.sweepEvents, s.sweepWaiting, s.sweepCounters, s.expire, s.sweepRemains, s.sweepRubbish} {
			part(w)
		}
		for q := range w.stmts {
			if !before[q] && !strings.HasPrefix(q, "INSERT INTO") && q != "UPDATE thread SET woken = 0, touched = 0" {
				queries = append(queries, q)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(queries) < 11 {
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

// A thread is kept from its last commit on, not from its last message.
func TestKeptFromTheLastCommit(t *testing.T) {
	t.Parallel()
	c := &clock{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{Keep: time.Hour, Now: c.now})
	expired := func() (n int) {
		t.Helper()
		if err := s.do(t.Context(), "expire", func(w *writer) { n = s.expire(w) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mustPut(t, s, "a", message("m1", "hi"))
	run := mustNext(t, s)
	for range 3 {
		c.pass(50 * time.Minute)
		if _, err := s.Commit(t.Context(), run, memory.Ended{Turn: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Finish(t.Context(), run, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if n := expired(); n != 0 {
		t.Error("a thread is erased right after a commit")
	}
	c.pass(70 * time.Minute)
	if n := expired(); n != 1 {
		t.Errorf("%d threads are erased after their time, want 1", n)
	}
}
