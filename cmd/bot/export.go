package main

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"time"

	"nod/adapters/discord"
	"nod/adapters/slack"
	"nod/adapters/terminal"
	workspace "nod/adapters/web"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/memory"
	"nod/trace"
	"nod/trace/otlp"
)

type exportCommand struct {
	Traces exportTracesCommand `cmd:"" help:"Send the spans of past turns to traces.otlp, or print them as OTLP in JSON lines where there is none."`
}

type exportTracesCommand struct {
	Config string        `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	Thread chat.ThreadID `help:"Of one thread only: platform/channel/root, as the log names it." placeholder:"T"`
	Since  ago           `help:"What ended since then, such as 7d or 12h. Default: 7d, or all of one thread." placeholder:"TIME"`
}

// Run sends or prints the spans of the log. It reads beside the service and changes
// nothing.
func (c exportTracesCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg, err := config.Load(c.Config, config.LoadOptions{Lenient: true, Needs: lookedAt, Getenv: env.Getenv})
	if err == nil && cfg.Traces != nil { // secrets are needed in headers only
		cfg, err = config.Load(c.Config, config.LoadOptions{Getenv: env.Getenv})
	}
	if err != nil {
		return usage(err)
	}
	if c.Since == 0 && c.Thread == (chat.ThreadID{}) {
		c.Since = ago(7 * 24 * time.Hour)
	}
	store, err := viewStore(ctx, cfg, cmd.logger(env, slog.LevelWarn))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	key, err := store.Noted(ctx, noteKey)
	if err != nil {
		return newMask(cfg).Error(err)
	}
	e := exporter{env: env, store: store, since: c.Since.time(), o: traceOptions(cfg, newMask(cfg), key)}
	if cfg.Traces != nil {
		e.sender = otlp.New(senderOptions(cfg.Traces))
	}
	if c.Thread != (chat.ThreadID{}) {
		err = e.export(ctx, c.Thread)
	} else {
		err = memory.EachThread(ctx, store, memory.ListQuery{Platforms: everyPlatform, Since: e.since}, func(t chat.ThreadID) error { return e.export(ctx, t) })
	}
	if err != nil {
		return newMask(cfg).Error(err)
	}
	if e.sender != nil {
		_, err = fmt.Fprintf(env.Out, "sent %d spans of %d threads to %s\n", e.spans, e.threads, cfg.Traces.OTLP)
	}
	return err
}

// everyPlatform is of which platforms a store may hold threads.
var everyPlatform = []string{slack.Platform, discord.Platform, terminal.Thread.Platform, workspace.Platform}

// ago is a length of time up to now, given in days too; zero: all time.
type ago time.Duration

// time is when it began.
func (a ago) time() time.Time {
	if a == 0 {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(a))
}

var days = regexp.MustCompile(`^([0-9]{1,5})d$`)

// mostSince is longer than anything was recorded, and short enough to be counted in.
const mostSince = 100 * 365 * 24 * time.Hour

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *ago) UnmarshalText(text []byte) error {
	span, err := time.ParseDuration(string(text))
	if m := days.FindSubmatch(text); m != nil {
		var n int
		n, err = strconv.Atoi(string(m[1]))
		span = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || span <= 0 || span > mostSince {
		return fmt.Errorf("%q is no length of time; write 7d or 12h", text)
	}
	*a = ago(span)
	return nil
}

// exporter sends or prints thread by thread.
type exporter struct {
	env    Env
	store  viewer
	since  time.Time
	o      trace.Options
	sender *otlp.Sender // nil: print

	spans, threads int
}

// most is how many spans a request holds.
const mostExported = 500

func (e *exporter) export(ctx context.Context, thread chat.ThreadID) error {
	spans, err := endedSince(ctx, e.store, thread, e.o, e.since)
	if err != nil || len(spans) == 0 {
		return err
	}
	e.threads, e.spans = e.threads+1, e.spans+len(spans)
	for some := range slices.Chunk(spans, mostExported) {
		if err := e.out(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// endedSince gives the spans of a thread that ended since then.
func endedSince(ctx context.Context, store memory.Reader, thread chat.ThreadID, o trace.Options, since time.Time) ([]trace.Span, error) {
	log, err := store.Read(ctx, thread)
	return slices.DeleteFunc(trace.Spans(thread, log, o), func(s trace.Span) bool { return s.End.Before(since) }), err
}

func (e *exporter) out(ctx context.Context, spans []trace.Span) error {
	if e.sender != nil {
		return e.sender.Deliver(ctx, spans)
	}
	_, err := fmt.Fprintf(e.env.Out, "%s\n", otlp.Encode(otlp.Resource{Version: version}, spans))
	return err
}
