//go:build !demo

package main

import (
	"context"
	"log/slog"
	"time"

	"nod/cmd/bot/config"
	"nod/cmd/bot/machine"
	"nod/memory"
	"nod/memory/redis"
)

// This file is all that the program knows of Redis. `make demo` is built without it
// (see store_demo.go): what is seen first needs one file and no server, and the
// client is a sixth of all that is compiled.

func openRedis(ctx context.Context, cfg *config.Config, log *slog.Logger) (fullStore, error) {
	return redis.Open(ctx, cfg.Store.URL.Reveal(), redis.Options{
		Logger: log, Keep: cfg.Memory.Keep, Quota: quota(cfg), Wait: serverWait, Process: machine.Process(), Ended: machine.Ended, Direct: direct,
	})
}

// viewRedis opens it to look at it.
func viewRedis(ctx context.Context, cfg *config.Config, log *slog.Logger) (viewer, error) {
	return redis.View(ctx, cfg.Store.URL.Reveal(), redis.Options{Logger: log})
}

func checkRedis(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]string, error) {
	return redis.Check(ctx, cfg.Store.URL.Reveal(), redis.Options{Logger: log})
}

func portableRedis(ctx context.Context, at config.Store, keep time.Duration, log *slog.Logger) (memory.Portable, error) {
	return redis.Portable(ctx, at.URL.Reveal(), redis.Options{Logger: log, Keep: keep})
}
