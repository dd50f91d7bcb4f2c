package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/adapters/discord"
	"nod/adapters/slack"
	"nod/adapters/terminal"
	workspace "nod/adapters/web"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/lab"
	"nod/llm"
	"nod/memory"
	"nod/memory/redis"
	"nod/memory/sqlite"
)

// pastStore is a store that is only read.
type pastStore interface {
	Read(ctx context.Context, thread chat.ThreadID) ([]memory.Entry, error)
	Watermarks(ctx context.Context, platform string, since time.Time) iter.Seq2[memory.Watermark, error]
	Blob(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
	Close() error
}

// past is what was recorded.
type past struct {
	pastStore
	scope scope
	log   *slog.Logger
}

func openPast(ctx context.Context, cfg *config.Config, log *slog.Logger, s scope) (*past, error) {
	var store pastStore
	var err error
	if cfg.Store.Kind == config.Redis {
		store, err = redis.View(ctx, cfg.Store.URL.Reveal(), redis.Options{Logger: log})
	} else {
		var v *sqlite.Viewer
		if v, err = sqlite.View(ctx, cfg.Store.Path); err == nil && v.Format() < sqlite.Format {
			err = errors.Join(usage(fmt.Errorf("replay: the store has format %d: start the service once, which brings it up to date", v.Format())), v.Close())
		}
		store = v
	}
	if err != nil {
		return nil, unusable(err)
	}
	return &past{pastStore: store, scope: s, log: log}, nil
}

func (p *past) close() {
	if err := p.Close(); err != nil {
		p.log.Warn("close the store", "error", err)
	}
}

// recordedOn are the platforms whose threads a store can hold.
var recordedOn = []string{slack.Platform, discord.Platform, terminal.Thread.Platform, workspace.Platform}

// threads yields the threads that were touched in the time that is meant.
func (p *past) threads(ctx context.Context) iter.Seq2[chat.ThreadID, error] {
	return func(yield func(chat.ThreadID, error) bool) {
		if p.scope.thread != (chat.ThreadID{}) {
			yield(p.scope.thread, nil)
			return
		}
		for _, platform := range recordedOn {
			for m, err := range p.Watermarks(ctx, platform, p.scope.since) {
				if !yield(m.Thread, err) || err != nil {
					return
				}
			}
		}
	}
}

// turns yields the turns that are meant, a thread at a time.
func (p *past) turns(ctx context.Context) iter.Seq2[[]*lab.Recorded, error] {
	return func(yield func([]*lab.Recorded, error) bool) {
		for thread, err := range p.threads(ctx) {
			var entries []memory.Entry
			if err == nil {
				entries, err = p.Read(ctx, thread)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			turns, ok := lab.Read(thread, entries, p.scope.since)
			if !ok {
				p.log.Warn("a thread holds what this build can't read, and is left out", "thread", thread.String())
			}
			if len(turns) > 0 && !yield(turns, nil) {
				return
			}
		}
	}
}

// counted is how much there is to replay.
type counted struct {
	threads, turns, calls int
	usage                 llm.Usage
}

func (p *past) count(ctx context.Context) (n counted, err error) {
	for turns, err := range p.turns(ctx) {
		if err != nil {
			return n, err
		}
		n.threads++
		for _, t := range turns {
			used, calls := t.Usage()
			n.turns++
			n.calls += calls
			n.usage.Prompt += used.Prompt
			n.usage.Cached += used.Cached
			n.usage.Completion += used.Completion
		}
	}
	return n, nil
}

// replay replays all turns, some at once. What can't be replayed is said, and
// counted; a model that refuses the key is the end.
func (p *past) replay(ctx context.Context, l *lab.Lab, workers int, complain io.Writer) (*lab.Report, int, error) {
	var mu sync.Mutex
	report, failed := &lab.Report{}, 0
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(workers)
	one := func(t *lab.Recorded) error {
		d, err := l.Replay(ctx, t)
		mu.Lock()
		defer mu.Unlock()
		var fault *llm.Error
		switch {
		case err == nil:
			report.Add(d)
		case ctx.Err() != nil, errors.As(err, &fault) && fault.Fault == llm.Auth:
			return err
		default:
			failed++
			_, _ = fmt.Fprintf(complain, "replay: %s turn %d: %v\n", t.Thread, t.Turn, err)
		}
		return nil
	}
	var broken error
	for turns, err := range p.turns(ctx) {
		if broken = err; err != nil {
			break
		}
		for _, t := range turns {
			all.Go(func() error { return one(t) })
		}
	}
	err := all.Wait()
	if err == nil {
		err = broken
	}
	report.Sort()
	return report, failed, err
}

// runCases runs the cases of a file, a line for each.
func runCases(ctx context.Context, l *lab.Lab, path string, env Env) error {
	f, err := os.Open(path)
	if err != nil {
		return usage(err)
	}
	defer func() { _ = f.Close() }()
	cases, err := lab.ReadCases(f)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", path, err))
	}
	failed := 0
	for _, c := range cases {
		why, err := l.Check(ctx, c)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			why = err.Error()
		}
		if why == "" {
			_, _ = fmt.Fprintf(env.Out, "ok %s\n", c.Name)
			continue
		}
		failed++
		_, _ = fmt.Fprintf(env.Out, "FAIL %s: %s\n", c.Name, why)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cases failed", failed, len(cases))
	}
	return nil
}

// exportCases writes the turns that got 👎 into a new file: one that is there may
// have been worked on.
func exportCases(ctx context.Context, cfg *config.Config, log *slog.Logger, s scope, path string, env Env) error {
	p, err := openPast(ctx, cfg, log, s)
	if err != nil {
		return err
	}
	defer p.close()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return usage(fmt.Errorf("--export-cases: %w", err))
	}
	n, err := p.export(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	_, err = fmt.Fprintf(env.Err, "%d turns with 👎 written to %s; each fails until you write into expect or forbid what would be right\n", n, path)
	return err
}

func (p *past) export(ctx context.Context, w io.Writer) (n int, err error) {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for thread, err := range p.threads(ctx) {
		var entries []memory.Entry
		if err == nil {
			entries, err = p.Read(ctx, thread)
		}
		if err != nil {
			return n, err
		}
		for _, c := range lab.Disliked(thread, entries, p.scope.since) {
			n++
			if err := out.Encode(c); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}
