package main

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"

	"nod/chat"
	"nod/cmd/bot/config"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

type auditCommand struct {
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	Thread string `help:"Of one thread only: platform/channel/root, as the log names it." placeholder:"T"`
}

// Run prints the audit log, a JSON line for each entry.
func (c auditCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg, err := config.Load(c.Config, config.LoadOptions{Lenient: true, Getenv: env.Getenv})
	if err != nil {
		return usage(err)
	}
	var thread chat.ThreadID
	if c.Thread != "" {
		if thread, err = chat.ParseThreadID(c.Thread); err != nil {
			return usage(err)
		}
	}
	store, err := viewStore(ctx, cfg, cmd.logger(env, slog.LevelInfo))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	out := json.NewEncoder(env.Out)
	for line, err := range store.Audit(ctx, thread) {
		if err != nil {
			return err
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// viewer reads a store that another process may be serving.
type viewer interface {
	Audit(ctx context.Context, thread chat.ThreadID) iter.Seq2[memory.AuditLine, error]
	memory.Reader
	memory.Lister
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
	Close() error
}

func viewStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (viewer, error) {
	if cfg.Store.Kind == config.Redis {
		v, err := redis.View(ctx, cfg.Store.URL.Reveal(), redis.Options{Logger: log})
		if err != nil {
			return nil, unusable(err)
		}
		log.Info("reading the store", "format", v.Format)
		return v, nil
	}
	v, err := sqlite.View(ctx, cfg.Store.Path)
	if err != nil {
		return nil, unusable(err)
	}
	log.Info("reading the store", "format", v.Format())
	return v, nil
}
