package sqlite_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"nod/chat"
	"nod/internal/storetest"
	"nod/memory"
	"nod/memory/sqlite"
)

// A viewer drops its reading of a free file once a service takes the file, also if the
// service has ended again. SQLite would mix old and new pages.
func TestViewWhileTheServiceStarts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	write := func(from, to int) {
		s := open(t, path, storetest.Options{}).Store
		for i := from; i < to; i++ {
			thread := chat.ThreadID{Platform: "slack", Channel: "C", Root: fmt.Sprint(i)}
			if _, err := s.Put(t.Context(), thread, memory.Message{Message: chat.Message{Text: strings.Repeat("hi", 4000)}}); err != nil {
				t.Fatal(err)
			}
			run, err := s.Next(t.Context(), "slack")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Commit(t.Context(), run, memory.Started{Call: "1-1-1", Tool: "deploy", Digest: "d"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write(0, 60)
	v, err := sqlite.View(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	read := func(i int) (int, error) {
		log, err := v.Read(t.Context(), chat.ThreadID{Platform: "slack", Channel: "C", Root: fmt.Sprint(i)})
		return len(log), err
	}
	for i := range 20 {
		if n, err := read(i); err != nil || n != 2 {
			t.Fatalf("thread %d: %d entries, %v", i, n, err)
		}
	}
	again(t, path)
	write(60, 120)
	for i := range 120 {
		if n, err := read(i); err == nil {
			t.Fatalf("thread %d: %d entries, as if they were there", i, n)
		} else if !strings.Contains(err.Error(), "run it again") {
			t.Fatal(err)
		}
	}
	var last error
	for _, err := range v.Lines(t.Context()) {
		last = err
	}
	if _, err := v.Heads(t.Context()); err == nil || last == nil || !strings.Contains(last.Error(), "run it again") {
		t.Errorf("the audit log: %v, %v", last, err)
	}
}

// again erases what is there.
func again(t *testing.T, path string) {
	s := open(t, path, storetest.Options{}).Store
	for i := range 60 {
		thread := chat.ThreadID{Platform: "slack", Channel: "C", Root: fmt.Sprint(i)}
		if _, err := s.Put(t.Context(), thread, memory.Message{Message: chat.Message{Text: "forget"}}); err != nil {
			t.Fatal(err)
		}
		run, err := s.Next(t.Context(), "slack")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context(), run, memory.Forgot{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
