package main

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"

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
