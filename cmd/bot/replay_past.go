package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"nod/agent/run"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/lab"
	"nod/llm"
	"nod/memory"
)

// past is the recorded store.
type past struct {
	viewer
	scope scope
	log   *slog.Logger
}

func openPast(ctx context.Context, cfg *config.Config, log *slog.Logger, s scope) (*past, error) {
	store, err := viewStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	return &past{viewer: store, scope: s, log: log}, nil
}

func (p *past) close() {
	if err := p.Close(); err != nil {
		p.log.Warn("close the store", "error", err)
	}
}

// threads goes through the threads that are meant, with all that is in them.
func (p *past) threads(ctx context.Context, do func(chat.ThreadID, []memory.Entry) error) error {
	read := func(thread chat.ThreadID) error {
		entries, err := p.Read(ctx, thread)
		if err != nil {
			return err
		}
		return do(thread, entries)
	}
	if p.scope.thread != (chat.ThreadID{}) {
		return read(p.scope.thread)
	}
	return memory.EachThread(ctx, p, memory.ListQuery{Platforms: everyPlatform, Since: p.scope.since}, read)
}

// turns goes through the turns that are meant, a thread at a time.
func (p *past) turns(ctx context.Context, do func([]*lab.Recorded)) error {
	return p.threads(ctx, func(thread chat.ThreadID, entries []memory.Entry) error {
		place := run.Limits{Channel: channelOf}.Place(thread)
		facts, err := memory.ReadBook(ctx, p, place)
		if err != nil {
			return err
		}
		turns, ok := lab.Read(thread, entries, p.scope.since)
		for _, t := range turns {
			t.Facts, t.Place = facts, place
		}
		if !ok {
			p.log.Warn("a thread holds what this build can't read, and is left out", "thread", thread.String())
		}
		if len(turns) > 0 {
			do(turns)
		}
		return ctx.Err()
	})
}

// counted is how much there is to replay.
type counted struct {
	threads, turns, calls int
	usage                 llm.Usage
}

func (p *past) count(ctx context.Context) (n counted, err error) {
	err = p.turns(ctx, func(turns []*lab.Recorded) {
		n.threads++
		for _, t := range turns {
			used, calls := t.Usage()
			n.turns++
			n.calls += calls
			n.usage.Prompt += used.Prompt
			n.usage.Cached += used.Cached
			n.usage.Completion += used.Completion
		}
	})
	return n, err
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
	broken := p.turns(ctx, func(turns []*lab.Recorded) {
		for _, t := range turns {
			all.Go(func() error { return one(t) })
		}
	})
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
	err = p.threads(ctx, func(thread chat.ThreadID, entries []memory.Entry) error {
		for _, c := range lab.Disliked(thread, entries, p.scope.since) {
			n++
			if err := out.Encode(c); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
