//go:build demo

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"nod/cmd/bot/config"
	"nod/memory"
)

// This is what the build of `make demo` has in place of store_redis.go. A file that
// names a Redis is a mistake for it.

var errDemo = usage(errors.New("store: this is the build of `make demo`, without Redis; `make build` has it"))

func openRedis(context.Context, *config.Config, *slog.Logger) (fullStore, error) { return nil, errDemo }

func viewRedis(context.Context, *config.Config, *slog.Logger) (viewer, error) { return nil, errDemo }

func checkRedis(context.Context, *config.Config, *slog.Logger) ([]string, error) { return nil, errDemo }

func portableRedis(context.Context, config.Store, time.Duration, *slog.Logger) (memory.Portable, error) {
	return nil, errDemo
}
