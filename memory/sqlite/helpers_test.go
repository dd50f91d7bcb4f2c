package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
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
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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

// gate holds the writer up, so that all puts meanwhile are one transaction.
func gate(t *testing.T, s *Store) (open func()) {
	t.Helper()
	closed, entered := make(chan struct{}), make(chan struct{})
	enter := sync.OnceFunc(func() { close(entered) })
	go func() {
		_ = s.do(context.Background(), "wait", func(*writer) {
			enter()
			<-closed
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
func together(t *testing.T, s *Store, ops ...func(*writer)) []error {
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
