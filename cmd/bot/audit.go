package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"nod/chat"
	"nod/cmd/bot/config"
	"nod/memory"
	"nod/memory/audit"
	"nod/memory/sqlite"
)

type auditCommand struct {
	Print  auditPrint  `cmd:"" default:"withargs" help:"Print the audit log, a JSON line for each entry."`
	Verify auditVerify `cmd:"" help:"Check the log, or an export of it, against its chain and its signature."`
	Export auditExport `cmd:"" help:"Print the log as JSON lines that can be checked anywhere."`
}

type auditPrint struct {
	Config string        `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	Thread chat.ThreadID `help:"Of one thread only: platform/channel/root, as the log names it." placeholder:"T"`
}

// Run prints the audit log, a JSON line for each entry.
func (c auditPrint) Run(ctx context.Context, cmd *commands, env Env) error {
	_, store, err := auditStore(ctx, c.Config, cmd, env)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	out := json.NewEncoder(env.Out)
	for line, err := range store.Audit(ctx, c.Thread) {
		if err != nil {
			return err
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

type auditVerify struct {
	Config string `help:"The configuration file." type:"path" placeholder:"FILE" xor:"what" required:""`
	File   string `help:"An export." type:"path" placeholder:"EXPORT" xor:"what" required:""`
	Key    string `help:"The key that it must be signed with. Without it an export's own counts, which proves nothing about who made it." placeholder:"HEX"`
}

// errNotWhole ends a check that found something; its words are printed already.
var errNotWhole = errors.New("the audit log is not whole")

// Run checks the log, and prints a line for each fault.
func (c auditVerify) Run(ctx context.Context, cmd *commands, env Env) error {
	var key ed25519.PublicKey
	if c.Key != "" {
		var err error
		if key, err = audit.ParsePublic(c.Key); err != nil {
			return usage(fmt.Errorf("--key: %w", err))
		}
	}
	report, err := c.check(ctx, cmd, env, key)
	if err != nil {
		return err
	}
	return tellReport(env.Out, report)
}

func (c auditVerify) check(ctx context.Context, cmd *commands, env Env, key ed25519.PublicKey) (audit.Report, error) {
	if c.File != "" {
		f, err := os.Open(c.File)
		if err != nil {
			return audit.Report{}, usage(fmt.Errorf("--file: %w", err))
		}
		defer func() { _ = f.Close() }()
		return audit.VerifyExport(f, key)
	}
	cfg, store, err := auditStore(ctx, c.Config, cmd, env)
	if err != nil {
		return audit.Report{}, err
	}
	defer func() { _ = store.Close() }()
	return verifyStore(ctx, cfg, store, key)
}

// verifyStore checks a store with a key, or with that of the installation.
func verifyStore(ctx context.Context, cfg *config.Config, store audit.Log, key ed25519.PublicKey) (audit.Report, error) {
	if key == nil {
		own, err := audit.FindKey(cfg.Audit.Key)
		if err != nil {
			return audit.Report{}, err
		}
		if own != nil {
			key, _ = own.Public().(ed25519.PublicKey)
		}
	}
	beside, err := audit.ReadBeside(audit.Beside(cfg.Audit.Key))
	if err != nil {
		return audit.Report{}, err
	}
	return audit.VerifyStore(ctx, store, key, beside)
}

func tellReport(out io.Writer, r audit.Report) error {
	for _, f := range r.Faults {
		if _, err := fmt.Fprintln(out, f); err != nil {
			return err
		}
	}
	if len(r.Faults) > 0 {
		return errNotWhole
	}
	_, err := fmt.Fprintf(out, "whole: %d lines, %d threads, key %s\n", r.Lines, r.Threads, cmp.Or(r.Key, "none"))
	return err
}

type auditExport struct {
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	Since  ago    `help:"Only what is younger, such as 30d or 12h." placeholder:"30d"`
	Names  bool   `help:"Add who the pseudonyms are, and the texts of reasons."`
}

// Run exports a sound log. It refuses a damaged one, since it would sign somebody's
// changes.
func (c auditExport) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg, store, err := auditStore(ctx, c.Config, cmd, env)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	return export(ctx, cfg, env, store, audit.ExportOptions{Since: c.Since.time(), Names: c.Names})
}

// export writes a store's log if that is whole; faults go to env.Err.
func export(ctx context.Context, cfg *config.Config, env Env, store audit.Log, o audit.ExportOptions) error {
	key, err := audit.FindKey(cfg.Audit.Key)
	if err != nil {
		return err
	}
	if key == nil {
		return fmt.Errorf("there is no key in %s yet; the service makes it when it starts", cfg.Audit.Key)
	}
	report, err := verifyStore(ctx, cfg, store, nil)
	if err != nil {
		return err
	}
	if len(report.Faults) > 0 {
		return errors.Join(tellReport(env.Err, report), errors.New("nothing is exported, since an export is signed; look into it, and keep the store as it is"))
	}
	o.Key, o.Now = key, time.Now()
	return audit.Export(ctx, env.Out, store, o)
}

// viewer reads a store that another process may be serving.
type viewer interface {
	audit.Log
	memory.Reader
	memory.Lister
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
	Noted(ctx context.Context, name string) ([]byte, error)
	Close() error
}

// lookedAt are the keys that choose the store for readers without the service's
// secrets. With another value they would report on another store as if it were this
// one.
var lookedAt = []string{"store", "audit.key"}

// auditStore opens the store that a file names, to look at it.
func auditStore(ctx context.Context, file string, cmd *commands, env Env) (*config.Config, viewer, error) {
	cfg, err := config.Load(file, config.LoadOptions{Lenient: true, Needs: lookedAt, Getenv: env.Getenv})
	if err != nil {
		return nil, nil, usage(err)
	}
	store, err := viewStore(ctx, cfg, cmd.logger(env, slog.LevelInfo))
	return cfg, store, err
}

func viewStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (v viewer, err error) {
	if cfg.Store.Kind == config.Redis {
		v, err = viewRedis(ctx, cfg, log)
	} else {
		v, err = sqlite.View(ctx, cfg.Store.Path)
	}
	return v, unusable(err)
}

// keepAudit signs checkpoints of the audit log until it is told to stop. Without a
// key nothing is signed, and that is said; the service goes on.
func (p *program) keepAudit() (stop func()) {
	key, err := audit.Key(p.cfg.Audit.Key)
	if err != nil {
		p.log.Error("the audit log is not signed: set audit.key to a file that can be read, or made", "error", err)
		return func() {}
	}
	k := audit.Keeper{Store: p.store, Key: key, File: audit.Beside(p.cfg.Audit.Key), Log: p.log}
	k.Restored = func(ctx context.Context, copied time.Time, threads []chat.ThreadID) error {
		return p.restored(ctx, copied, threads, false)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := k.Begin(ctx); err != nil { // before anything is decided by a store that came back older
		p.log.Warn("make a checkpoint of the audit log", "error", err)
	}
	p.eraseAgain(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// eraseAgain erases the people who come back with a restored copy.
func (p *program) eraseAgain(ctx context.Context) {
	erased, err := people(p.cfg, p.store, p.lists)
	n := 0
	if err == nil {
		n, err = erased.Again(ctx)
	}
	if err != nil {
		p.log.Error("erase people anew who are listed beside the audit key; give bot person erase again", "error", err)
	}
	if n > 0 {
		p.log.Warn("people who were erased came back with an older store, and are erased anew", "people", n)
	}
}
