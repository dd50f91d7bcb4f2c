package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"nod/adapters/web/door"
	"nod/chat/catchup"
	"nod/cmd/bot/config"
	"nod/memory"
	"nod/memory/sqlite"
	"nod/memory/transfer"
)

type storeCommand struct {
	Copy storeCopyCommand `cmd:"" help:"Copy a store into an empty one, of the same kind or another, while no service runs on either."`
}

type storeCopyCommand struct {
	From   string `arg:"" help:"The store that has everything: sqlite:PATH or redis://…"`
	To     string `arg:"" help:"The empty store."`
	Config string `help:"The configuration file, for memory.keep." type:"existingfile" placeholder:"FILE"`
}

// Run copies, and goes on with a copy that was interrupted.
func (c storeCopyCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	from, err := config.ParseStore(c.From)
	if err != nil {
		return usage(fmt.Errorf("FROM %w", err))
	}
	to, err := config.ParseStore(c.To)
	if err != nil {
		return usage(fmt.Errorf("TO %w", err))
	}
	keep := time.Duration(0)
	if c.Config != "" {
		cfg, err := config.Load(c.Config, config.LoadOptions{Lenient: true, Needs: lookedAt, Getenv: env.Getenv})
		if err != nil {
			return usage(err)
		}
		keep = cfg.Memory.Keep
	}
	if _, err := os.Stat(from.Path); from.Kind == config.SQLite && errors.Is(err, fs.ErrNotExist) {
		return usage(fmt.Errorf("FROM: there is no file %s", from.Path))
	}
	log := cmd.logger(env, slog.LevelWarn)
	source, err := portable(ctx, from, keep, log)
	if err != nil {
		return unusable(err)
	}
	defer func() { _ = source.Close() }()
	target, err := portable(ctx, to, keep, log)
	if err != nil {
		return unusable(err)
	}
	defer func() { _ = target.Close() }()
	counts, err := transfer.Copy{
		From: source, To: target, FromName: from.String(), ToName: to.String(),
		Skip: func(note string) bool { return strings.HasPrefix(note, door.NotePrefix) },
	}.Run(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "copied and verified: %s\nNow write `store: %s` into the file, and start nod.\n", counts, to)
	return err
}

func portable(ctx context.Context, at config.Store, keep time.Duration, log *slog.Logger) (memory.Portable, error) {
	if at.Kind == config.Redis {
		return portableRedis(ctx, at, keep, log)
	}
	return sqlite.Portable(ctx, at.Path)
}

// refuseMarked refuses a store that is a half copy, or that was copied.
func refuseMarked(ctx context.Context, store fullStore) error {
	mark, err := transfer.Mark(ctx, store)
	if err == nil && mark != "" {
		err = usage(fmt.Errorf("store: it is marked %q: after a whole copy name the new store, and `bot store copy` goes on with a half one", mark))
	}
	return err
}

// The key of a store, with which the digests of calls are made that stand in logs
// and on cards. All processes that share the store have the same one.
const (
	noteKey  = "digest-key"
	keyBytes = 32
)

// storeKey reads the key of a store, and makes it where there is none: the store is born
// then. Of several processes at their first start the first one's birth and key count.
func storeKey(ctx context.Context, store memory.Full) ([]byte, error) {
	key, err := store.Noted(ctx, noteKey)
	if err != nil || len(key) == keyBytes {
		return key, err
	}
	born, err := json.Marshal(catchup.Birth{At: time.Now().UTC()})
	if err == nil {
		_, err = store.Swap(ctx, catchup.NoteBirth, nil, born)
	}
	fresh := make([]byte, keyBytes)
	_, _ = rand.Read(fresh) // never fails
	if err == nil {
		_, err = store.Swap(ctx, noteKey, key, fresh)
	}
	if err != nil {
		return nil, fmt.Errorf("make the key of the store: %w", err)
	}
	return store.Noted(ctx, noteKey)
}
