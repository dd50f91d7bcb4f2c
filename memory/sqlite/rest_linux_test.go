package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"nod/chat"
	"nod/memory"
)

// What a store read and wrote does not stay in memory once it rests, and it goes on
// afterwards.
func TestRestGivesMemoryBack(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "nod.db"), Options{})
	text := strings.Repeat("some words that somebody wrote ", 500)
	const threads = 1000 // some 15 MB
	for i := range threads {
		if _, err := s.Put(t.Context(), onBoard(fmt.Sprint(i)), memory.Message{Message: chat.Message{Text: text}}, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range threads {
		if _, err := s.Read(t.Context(), onBoard(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	debug.FreeOSMemory()
	before := anonymous(t)
	if err := s.Rest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := anonymous(t); after > before-4<<10 {
		t.Errorf("%d KiB are in memory, %d before", after, before)
	}
	if _, err := s.Put(t.Context(), onBoard("0"), memory.Message{Message: chat.Message{Text: "more"}}, "more"); err != nil {
		t.Fatal(err)
	}
	if log, err := s.Read(t.Context(), onBoard("0")); err != nil || len(log) != 2 {
		t.Errorf("%d entries, %v", len(log), err)
	}
}

// anonymous is how much memory this process has that is no file's, in KiB.
func anonymous(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}
