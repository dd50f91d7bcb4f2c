package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"nod/chat/catchup"
	"nod/memory"
)

// The key of a store, with which the digests of calls are made that stand in logs
// and on cards. All processes that share the store have the same one.
const (
	noteKey  = "digest-key"
	keyBytes = 32
	keyWait  = 5 * time.Second
)

// storeKey reads the key of a store, and makes it where there is none: the store is born
// then. Of several
// processes at their first start the one that counts first makes it. One that died
// meanwhile is not waited for: approvals that are asked in these seconds may then
// be bound to a key that nobody else has, and don't run.
func storeKey(ctx context.Context, store memory.Full) ([]byte, error) {
	key, err := store.Noted(ctx, noteKey)
	if err != nil || len(key) == keyBytes {
		return key, err
	}
	first, err := store.Count(ctx, noteKey, 1, keyWait)
	if err != nil {
		return nil, fmt.Errorf("make the key of the store: %w", err)
	}
	for until := time.Now().Add(keyWait); first > 1 && time.Now().Before(until); {
		time.Sleep(keyWait / 50)
		if key, err = store.Noted(ctx, noteKey); err != nil || len(key) == keyBytes {
			return key, err
		}
	}
	if first == 1 {
		if err := (catchup.Birth{At: time.Now().UTC()}).Bear(ctx, store); err != nil {
			return nil, err
		}
	}
	key = make([]byte, keyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make the key of the store: %w", err)
	}
	return key, store.Note(ctx, noteKey, key)
}
