package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/adapters/discord"
	"nod/adapters/operator"
	"nod/adapters/slack"
	"nod/agent/run"
	"nod/chat"
	"nod/cmd/bot/config"
)

type runCommand struct {
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
}

// platform is an adapter as the service runs it.
type platform interface {
	run.Platform
	// Run connects and stays connected until ctx is done. An error is one that
	// connecting again would not mend.
	Run(ctx context.Context) error
	// Ready says whether it is connected.
	Ready() bool
}

// Run serves until SIGINT or SIGTERM, then drains.
func (c runCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg, err := load(c.Config, env)
	if err != nil {
		return err
	}
	if missing := cfg.Incomplete(); len(missing) > 0 {
		return config.Mistakes(missing)
	}
	r := reload{make(chan os.Signal, 1), func() (*config.Config, error) { return load(c.Config, env) }, &slog.LevelVar{}}
	_ = r.level.UnmarshalText([]byte(cfg.Log.Level)) // one of the enum
	signal.Notify(r.asked, syscall.SIGHUP)
	defer signal.Stop(r.asked)
	log := cmd.logger(env, r.level)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	endAtSecond(ctx)
	defer surviveReader()()
	err = serve(ctx, cfg, log, env.Out, r)
	return newMask(cfg).Error(err)
}

// twice is how long after a signal another one may be the same: timeout(1) sends its own
// to the program and then to the program's group.
const twice = time.Second

// endAtSecond has the first signal after ctx is done, which begins a drain, end the
// program at once, as it ends one that listens to none.
func endAtSecond(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(twice, func() { signal.Reset(os.Interrupt, syscall.SIGTERM) })
	})
}

// surviveReader keeps the program alive when the reader of its log is gone: by default
// the next line would end the program in the middle of its work. Programs that it
// starts don't inherit that.
func surviveReader() (stop func()) {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	return func() { signal.Stop(pipes) }
}

func serve(ctx context.Context, cfg *config.Config, log *slog.Logger, out io.Writer, r reload) error {
	p, err := assemble(ctx, cfg, log)
	if err != nil && ctx.Err() != nil { // it was told to stop while it waited, as for the store
		log.Warn("stopped before it was ready", "error", err)
		log.Info("stopped")
		return nil
	}
	if err != nil {
		return err
	}
	defer p.close()
	platforms, err := p.platforms()
	if err != nil {
		return err
	}
	page, err := p.operate(out, platforms)
	if err != nil {
		return err
	}
	return p.serve(ctx, platforms, page, r)
}

// platforms makes the adapters that the file switches on. A new adapter is
// made here.
func (p *program) platforms() (map[string]platform, error) {
	out := map[string]platform{}
	var errs [2]error
	if p.cfg.Slack != nil {
		out[slack.Platform], errs[0] = p.newSlack()
	}
	if p.cfg.Discord != nil {
		out[discord.Platform], errs[1] = p.newDiscord()
	}
	return out, errors.Join(errs[:]...)
}

// lost takes note of a platform that connecting again would not bring back. The
// others go on; the last one's end is the program's.
func (p *program) lost(name string, err error, of int) error {
	p.gone.Store(name, err.Error())
	if p.losses.Add(1) == int32(of) {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.log.Error("a platform is gone; the others go on", "platform", name, "error", err)
	return nil
}

// serve runs the adapters, the runner and the listener. When the context ends, the
// runner claims nothing more and finishes its work. The adapters stay connected until
// then, so that it can still post. Messages meanwhile are stored for the next process.
func (p *program) serve(ctx context.Context, platforms map[string]platform, page *operator.Page, r reload) error {
	listens, posts, err := p.bind(ctx) // before anything is connected, and a turn begun that would end with it
	if err != nil {
		return err
	}
	obey := p.orders(ctx, page)
	all, ctx := errgroup.WithContext(ctx)
	drained, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	served := map[string]run.Platform{}
	for name, a := range platforms {
		served[name] = a
		all.Go(func() error {
			err := a.Run(drained)
			if err == nil || drained.Err() != nil {
				return nil
			}
			return p.lost(name, err, len(platforms))
		})
	}
	defer context.AfterFunc(ctx, func() {
		p.draining.Store(true)
		p.log.Info("draining; another signal ends the program at once")
	})()
	all.Go(func() error {
		defer release()
		return p.drive(ctx, served)
	})
	if len(p.cfg.Alerts) > 0 {
		p.alerts.Begin = func(ctx context.Context, channel string, post chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
			return begin(ctx, served, channel, post, look)
		}
		all.Go(func() error { return p.alerts.Run(ctx) })
	}
	if posts != nil {
		all.Go(func() error { return p.takePosts(drained, posts) })
	}
	if p.spans != nil {
		all.Go(func() error { return p.spans.run(drained, p, served) })
	}
	if page != nil {
		all.Go(func() error { return page.Run(drained) })
	}
	all.Go(func() error { return obey(drained) })
	all.Go(func() error { return p.reloads(drained, r) })
	if listens != nil {
		all.Go(func() error { return p.listen(drained, listens, platforms) })
	}
	p.log.Info("started", "store", p.cfg.Store, "version", version)
	if err := all.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	p.log.Info("stopped")
	return nil
}
