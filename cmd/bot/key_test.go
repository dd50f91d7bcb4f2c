package main

import (
	"bytes"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"nod/cmd/bot/config"
	"nod/memory/sqlite"
)

// All that share a store have one key, those too that are there at its first start,
// and it is the same after the next.
func TestStoreKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nod.db")
	var keys [4][]byte
	open := func(n int) {
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = store.Close() }()
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				key, err := storeKey(t.Context(), store)
				if err != nil {
					t.Error(err)
				}
				keys[i] = key
			})
		}
		all.Wait()
	}
	open(len(keys))
	first := keys[0]
	open(1)
	for i, key := range keys {
		if len(key) != keyBytes || !bytes.Equal(key, first) {
			t.Errorf("key %d is %x, want %x", i, key, first)
		}
	}
}

// A store that takes no key ends the start, with a word.
func TestStoreTakesNoKey(t *testing.T) {
	t.Parallel()
	cfg := config.Default(func(string) (string, bool) { return "", false })
	cfg.Store.Path = filepath.Join(t.TempDir(), "nod.db")
	store, err := sqlite.Open(t.Context(), cfg.Store.Path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", cfg.Store.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `CREATE TRIGGER no BEFORE INSERT ON note BEGIN SELECT RAISE(ABORT, 'it takes no notes'); END`); err != nil {
		t.Fatal(err)
	}
	if _, err := assemble(t.Context(), cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "it takes no notes") {
		t.Errorf("the start ends with %v", err)
	}
}
