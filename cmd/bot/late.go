package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"nod/agent/run"
	"nod/cmd/bot/config"
	"nod/tools"
)

// drive runs the threads until ctx is done. When a server comes that was down at the
// start, the threads are let go of and taken up again with its tools, as after a
// restart, only that the platforms stay connected: who decides must know of the same
// tools from the beginning of a decision to its end.
func (p *program) drive(ctx context.Context, platforms map[string]run.Platform) error {
	for {
		once, stop := context.WithCancel(ctx)
		came := make(chan bool, 1)
		go func() {
			defer stop()
			select {
			case <-p.kit.mcp.Late():
				came <- true
			case <-once.Done():
				came <- false
			}
		}()
		err := p.runner(platforms).Run(once)
		stop()
		if !<-came || err != nil || ctx.Err() != nil {
			return err
		}
		if err := p.renew(); err != nil {
			return err
		}
	}
}

// renew makes the agent anew, with the tools that the servers have now.
func (p *program) renew() error {
	left := len(p.kit.left)
	if err := p.kit.renew(p.cfg); err != nil {
		return err
	}
	fresh, err := fitting(p.cfg, p.kit)
	if err != nil {
		return err
	}
	a := *p.agent // with all that was set since it was made
	a.Tools, a.Rooms = fresh.Tools, fresh.Rooms
	p.agent = &a
	p.deciding.Store(&a)
	p.meter.Know(a.Tools)
	for _, s := range p.kit.left[min(left, len(p.kit.left)):] {
		p.log.Warn("the tools of an mcp server are left out", "server", s.name, "why", s.why)
	}
	return nil
}

// renew takes up the tools of servers that came late.
func (k *kit) renew(cfg *config.Config) error {
	k.list = slices.DeleteFunc(k.list, func(t tools.Tool) bool { return k.served[t.Name] })
	for name := range k.served {
		delete(k.rules, name)
	}
	k.left, k.concealed = nil, nil
	k.serve(cfg)
	if err := k.rebox(); err != nil {
		return fmt.Errorf("take up the tools of an mcp server: %w", err)
	}
	return nil
}

// reload is how the service reads its file anew.
type reload struct {
	asked chan os.Signal
	load  func() (*config.Config, error)
	level *slog.LevelVar
}

// reloads reads the file anew at each SIGHUP, until ctx is done.
func (p *program) reloads(ctx context.Context, r reload) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.asked:
			p.take(r)
		}
	}
}

// take takes the file as it is now, wholly or not at all.
func (p *program) take(r reload) {
	next, err := r.load()
	if err == nil {
		p.mask.Learn(next.Secrets()...)
		err = p.cfg.Take(next)
	}
	if err != nil {
		p.log.Warn("nothing of the configuration is taken", "error", err)
		return
	}
	_ = r.level.UnmarshalText([]byte(p.cfg.Log.Level)) // one of the enum
	p.log.Info("the configuration is taken")
}
