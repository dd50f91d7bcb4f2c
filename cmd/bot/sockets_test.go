package main

import (
	"path/filepath"
	"testing"
	"time"

	"nod/memory/sqlite"
)

// The processes that share a store know how many sockets they have in all. A process that
// was killed counts for some hours.
func TestSharedSockets(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "nod.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	begin := time.Now()
	for _, step := range []struct {
		self  string
		own   int
		after time.Duration
		want  int
	}{{"a", 2, 0, 2}, {"b", 2, 0, 4}, {"a", 3, time.Hour, 5}, {"b", 0, time.Hour, 3}, {"c", 1, 14 * time.Hour, 1}} {
		if got := sharedSockets(store, step.self, step.own, begin.Add(step.after)); got != step.want {
			t.Errorf("%+v: %d in all", step, got)
		}
	}
	_ = store.Close()
	if got := sharedSockets(store, "a", 2, begin); got < 1000 {
		t.Errorf("without the store %d sockets are known", got)
	}
}
