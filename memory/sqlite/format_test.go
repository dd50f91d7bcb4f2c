package sqlite

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/chat"
	"nod/memory"
)

// format1File copies the file that a build of format 1 wrote. In it, on the
// platform "board": a finished turn with a file, a call that was approved and ran,
// an approval that waits, a thread that was forgotten, one that was trimmed, one
// that was cut off after `started` with a message in its inbox, a message that
// nobody has claimed, and a reaction on a message that nobody knows.
func format1File(t *testing.T) string { return recorded(t, "format1.db.gz") }

// recorded copies a file that an earlier build wrote. The one of format 2 is that
// of format 1 as the last build of format 2 left it, with two more approved calls.
func recorded(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packed.Close() }()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "nod.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

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

var roots = []string{"finished", "decided", "approval", "forgotten", "trimmed", "cut", "waits"}

// reading is what readers see of a file.
type reading struct {
	Logs  map[string][]memory.Entry
	Audit []memory.AuditLine
}

func readAll(t *testing.T, r interface {
	memory.Reader
	memory.Auditor
},
) reading {
	t.Helper()
	out := reading{Logs: map[string][]memory.Entry{}}
	for _, root := range roots {
		log, err := r.Read(t.Context(), onBoard(root))
		if err != nil {
			t.Fatal(err)
		}
		out.Logs[root] = log
	}
	for line, err := range r.Audit(t.Context(), chat.ThreadID{}) {
		if err != nil {
			t.Fatal(err)
		}
		out.Audit = append(out.Audit, line)
	}
	return out
}

// A file of an earlier format is looked at as it is, and holds the same when it has
// been brought up to date, with sound chains in its audit log.
func TestFormersAreRead(t *testing.T) {
	t.Parallel()
	for format, name := range map[int]string{1: "format1.db.gz", 2: "format2.db.gz"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := recorded(t, name)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			v, err := View(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Ping(t.Context()); err != nil || v.Format() != format {
				t.Errorf("format %d, %v, want %d", v.Format(), err, format)
			}
			staysTheSame(t, path, before, v)
		})
	}
}

func staysTheSame(t *testing.T, path string, before []byte, v *Viewer) {
	t.Helper()
	old := readAll(t, v)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		if len(old.Logs[root]) == 0 {
			t.Errorf("nothing is read of %s", root)
		}
	}
	if len(old.Audit) == 0 {
		t.Error("no audit line is read")
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("looking at the file changed it (%v)", err)
	}
	if files, err := filepath.Glob(path + "*"); err != nil || len(files) != 1 {
		t.Errorf("looking at the file left %q beside it", files)
	}
	s := mustOpen(t, path, Options{})
	if diff := cmp.Diff(old, readAll(t, s)); diff != "" {
		t.Errorf("the file holds something else when it is up to date (-before +after):\n%s", diff)
	}
	ends := map[chat.ThreadID]memory.Head{}
	for k, err := range s.Lines(t.Context()) {
		l, sound := memory.ReadLine(k.Raw)
		if end := ends[l.Thread]; err != nil || !sound || l.Seq != end.Seq+1 || l.Prev != end.Hash {
			t.Errorf("line %s, %v does not follow %v", k.Raw, err, end)
		}
		ends[l.Thread] = memory.Head{Seq: l.Seq, Hash: l.Hash}
	}
	if heads, err := s.Heads(t.Context()); err != nil || !cmp.Equal(ends, heads) {
		t.Errorf("ends of the chains: %v, %v, want %v", heads, err, ends)
	}
}

// old is a store on a file of format 1, that is up to date now.
type old struct {
	*Store
	t *testing.T
}

func openOld(t *testing.T) old { return old{mustOpen(t, format1File(t), Options{}), t} }

// claims claims a thread, lets go of it, and gives the kinds of its entries.
func (s old) claims() (root string, kinds []string) {
	s.t.Helper()
	run := mustNext(s.t, s.Store)
	for _, e := range run.Log {
		kinds = append(kinds, e.Body.Kind())
	}
	if _, err := s.Commit(s.t.Context(), run, memory.Ended{Turn: 1}); err != nil {
		s.t.Fatal(err)
	}
	if more, err := s.Finish(s.t.Context(), run, time.Time{}); err != nil || more {
		s.t.Fatal(more, err)
	}
	return run.Thread.Root, kinds
}

func (s old) reacts(on chat.MessageRef) {
	s.t.Helper()
	r := memory.Reaction{Reaction: chat.Reaction{On: on, By: chat.User{ID: "ada"}, Emoji: "✅"}}
	if fresh, err := s.PutRef(s.t.Context(), on, r); err != nil || !fresh {
		s.t.Fatal(fresh, err)
	}
}

// Every thread of a file of format 1 goes on where it was: what was woken, with what
// was in its inbox, and whatever a reaction is on.
func TestFormat1GoesOn(t *testing.T) {
	t.Parallel()
	s := openOld(t)
	s.reacts(message("m9", "").Ref) // which waits in an inbox
	woken := map[string][]string{}
	for range 2 {
		root, kinds := s.claims()
		woken[root] = kinds
	}
	want := map[string][]string{"cut": {"message", "opened", "started", "message"}, "waits": {"message", "reaction"}}
	if diff := cmp.Diff(want, woken); diff != "" {
		t.Errorf("threads that were woken (-want +got):\n%s", diff)
	}
	for id, want := range map[string]string{"m8": "cut", "m1": "finished", "m9": "waits"} {
		s.reacts(message(id, "").Ref)
		if root, _ := s.claims(); root != want {
			t.Errorf("a reaction on %s woke %s, want %s", id, root, want)
		}
	}
	if tail, err := s.Tail(t.Context(), onBoard("trimmed"), 0); err != nil || tail.Base != 3 || len(tail.Log) == 0 || tail.Log[0].Seq != 3 {
		t.Errorf("the trimmed thread begins at %d, %v, want 3", tail.Base, err)
	}
}

// An approval of a file of format 1 is decided by a reaction on its message.
func TestFormat1Approval(t *testing.T) {
	t.Parallel()
	s := openOld(t)
	var pending []memory.PendingApproval
	for p, err := range s.Pending(t.Context(), "board") {
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	if len(pending) != 1 || pending[0].Thread != onBoard("approval") {
		t.Fatalf("pending: %v, want the one of thread approval", pending)
	}
	for range 2 { // what was woken already
		s.claims()
	}
	s.reacts(pending[0].Ref)
	if root, kinds := s.claims(); root != "approval" || kinds[len(kinds)-1] != "reaction" {
		t.Errorf("claimed %s, whose log is %v", root, kinds)
	}
}

// What a file of format 1 keeps beside its logs is still there: watermarks, event
// ids, files, counters, and reactions that wait for their message.
func TestFormat1Beside(t *testing.T) {
	t.Parallel()
	s := openOld(t)
	ctx := t.Context()
	marks := map[string]string{}
	for m, err := range s.Watermarks(ctx, "board", time.Time{}, 0) {
		if err != nil {
			t.Fatal(err)
		}
		marks[m.Thread.Root] = m.Last.ID
	}
	if marks["waits"] != "m9" || marks["cut"] != "m8" || marks["finished"] != "m1" {
		t.Errorf("watermarks %v, want m9, m8 and m1", marks)
	}
	for _, id := range []string{"event-m1", "message-m1", "event-m9", "vote", "early"} {
		if fresh, err := s.Put(ctx, onBoard("finished"), message("m1", "look it up"), id); err != nil || fresh {
			t.Errorf("event %s = %v, %v, want not fresh", id, fresh, err)
		}
	}
	row := func(want int64, query string, args ...any) {
		t.Helper()
		var got int64
		if err := s.db.QueryRow(query, args...).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %d, %v, want %d", query, got, err, want)
		}
	}
	const size = "SELECT length(c.data) FROM blob b JOIN content c ON c.id = b.content JOIN thread t ON t.id = b.thread WHERE t.name = ?"
	row(8, size, onBoard("finished").String())
	row(5, size, onBoard("approval").String())
	row(13, "SELECT value FROM number WHERE name = 'bytes'")
	row(1, "SELECT count(*) FROM waiting w JOIN entry e ON e.id = w.entry WHERE w.ref = ?", refKey(message("unknown", "").Ref))
	if n, err := s.Count(ctx, "tokens", 0, time.Hour); err != nil || n != 42 {
		t.Errorf("the counter is %d, %v, want 42", n, err)
	}
}

// A file that was brought up to date has the same tables as a new one.
func TestMigratedTables(t *testing.T) {
	t.Parallel()
	tables := func(path string) []string {
		s := mustOpen(t, path, Options{})
		rows, err := s.db.Query("SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema WHERE name <> 'sqlite_sequence' ORDER BY 1")
		if err != nil {
			t.Fatal(err)
		}
		lines, err := gather(rows, func(r *sql.Rows) (line string, err error) { return line, r.Scan(&line) })
		if err != nil {
			t.Fatal(err)
		}
		return lines
	}
	if diff := cmp.Diff(tables(filepath.Join(t.TempDir(), "new.db")), tables(format1File(t))); diff != "" {
		t.Errorf("tables (-new +migrated):\n%s", diff)
	}
}

// A file that is new was never out of date, and nothing is said of it.
func TestNewFileIsNotMigrated(t *testing.T) {
	t.Parallel()
	for path, said := range map[string]bool{filepath.Join(t.TempDir(), "new.db"): false, format1File(t): true} {
		var logs bytes.Buffer
		mustClose(t, mustOpen(t, path, Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))}))
		if strings.Contains(logs.String(), "brought up to date") != said {
			t.Errorf("%s: %s", filepath.Base(path), logs.String())
		}
	}
}

// toNext is made up: a later build that keeps something more.
func toNext(m *migration) error {
	return m.exec("CREATE TABLE later (id INTEGER PRIMARY KEY); INSERT INTO later VALUES (1)")
}

// Steps in a row, with a process that is killed in the last one: the next
// process goes on with that.
func TestKilledBetweenSteps(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("KILLED"); path != "" {
		_, err := Open(t.Context(), path, Options{steps: []step{toFormat2, toFormat3, func(m *migration) error {
			if err := toNext(m); err != nil {
				return err
			}
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}}})
		t.Fatalf("still here: %v", err)
	}
	path := format1File(t)
	v, err := View(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	old := readAll(t, v)
	_ = v.Close()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledBetweenSteps$") //nolint:gosec // this very test
	cmd.Env = append(os.Environ(), "KILLED="+path)
	if out, err := cmd.CombinedOutput(); err == nil || bytes.Contains(out, []byte("still here")) {
		t.Fatalf("the process was not killed: %v\n%s", err, out)
	}
	if v, err = View(t.Context(), path); err != nil || v.Format() != 3 {
		t.Fatalf("the file after the kill: %v, want format 3", err)
	}
	_ = v.Close()
	var said bytes.Buffer
	s := mustOpen(t, path, Options{steps: []step{toFormat2, toFormat3, toNext}, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	var n int
	if err := s.db.QueryRow("SELECT count(*) FROM later").Scan(&n); err != nil || n != 1 {
		t.Errorf("the second step left %d rows, %v, want 1", n, err)
	}
	if diff := cmp.Diff(old, readAll(t, s)); diff != "" {
		t.Errorf("logs after two steps (-before +after):\n%s", diff)
	}
	if !strings.Contains(said.String(), "format=3 to=4") {
		t.Errorf("said %q, want that it goes on with format 3", said.String())
	}

	// And this build refuses what that one wrote, and changes nothing.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, path, 4)
}

// A file of a later format is refused in the words of the contract, and neither
// opening nor looking at it changes anything.
func TestLaterFormat(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	s := mustOpen(t, path, Options{})
	if _, err := s.Put(t.Context(), onBoard("a"), message("m1", "hi")); err != nil {
		t.Fatal(err)
	}
	if err := s.do(t.Context(), func(w *writer) error { return w.run("PRAGMA user_version = 7") }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, path, 7)
}

func wantRefused(t *testing.T, path string, have int) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{})
	_, viewed := View(t.Context(), path)
	for what, err := range map[string]error{"Open": err, "View": viewed} {
		want := memory.FormatError{Have: have, Reads: Format}
		if got, ok := errors.AsType[memory.FormatError](err); !ok || got != want || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a file that is refused was changed (%v)", err)
	}
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

// Nobody else reads the file, whatever the umask lets them: what was said stands in it.
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
