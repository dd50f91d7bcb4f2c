package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/adapters/terminal"
	"nod/agent/run"
	"nod/chat"
	"nod/cmd/bot/config"
)

// drainWait is how long a new process waits for the one before it to let go
// of the store's file.
const drainWait = 5 * time.Second

type chatCommand struct {
	Config string `help:"The configuration file. Without one: the demo model, and a store in the state directory." type:"path" placeholder:"FILE"`
}

// Run is the agent in this terminal.
func (c chatCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg := config.Default(env.Getenv)
	if c.Config != "" {
		var err error
		if cfg, err = load(c.Config, env); err != nil {
			return err
		}
	} else {
		cfg.Tools.Commands = demoCommands(cfg)
	}
	log := cmd.logger(env, slog.LevelError)
	p, err := assemble(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer p.close()
	return p.chat(ctx, env)
}

// chat runs the terminal and the runner side by side until the terminal ends.
func (p *program) chat(ctx context.Context, env Env) error {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	inbox := p.inbox()
	term := terminal.New(terminal.Options{
		In: env.In, Out: env.Out, Screen: screen(env), Inbox: inbox, History: inbox,
		User: chat.User{Name: userName(env)}, Banner: p.banner(), Interrupts: interrupts, Files: p.files(env),
	})
	all, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all.Go(func() error { return p.runner(map[string]run.Platform{terminal.Thread.Platform: term}).Run(ctx) })
	all.Go(func() error {
		defer stop()
		return term.Run(ctx)
	})
	return all.Wait()
}

// files is the folder for what tools make: beside the store, or where the store
// of a chat without a file would be.
func (p *program) files(env Env) string {
	store := p.cfg.Store.Path
	if store == "" {
		store = config.Default(env.Getenv).Store.Path
	}
	return filepath.Join(filepath.Dir(store), "files")
}

func (p *program) banner() string {
	if p.cfg.Offline() {
		return "This is nod with its built-in demo model: a script, not a language model, and nothing leaves this machine.\n" +
			"Try: what is 17% of 2340?   |   what time is it in Tokyo?   |   how full is the disk (disk_free)?   |   restart service api\n" +
			"Words that work anywhere: help, steps, memory, stop, forget; attach PATH. Ctrl-D leaves."
	}
	return fmt.Sprintf("nod with %s. Words that work anywhere: help, steps, memory, stop, forget; attach PATH. Ctrl-D leaves.", p.cfg.LLM.Model)
}

// screen says what the terminal can do, when it is one.
func screen(env Env) terminal.Screen {
	in, isFile := env.In.(*os.File)
	out, ok := env.Out.(*os.File)
	if !isFile || !ok {
		return terminal.Screen{}
	}
	return terminal.Detect(in, out, func(name string) string {
		v, _ := env.Getenv(name)
		return v
	})
}

// userName is how the person is called.
func userName(env Env) string {
	for _, name := range []string{"USER", "LOGNAME"} {
		if v, ok := env.Getenv(name); ok && v != "" {
			return v
		}
	}
	return "you"
}

// demoCommands are the team's own tools of a chat without a file: one that
// only looks, and one that has to be approved.
func demoCommands(cfg *config.Config) []config.Command {
	look := config.Command{
		Name: "disk_free", Description: "Show how full the disk is. Takes no arguments.",
		Parameters: []byte(`{"type":"object","properties":{},"additionalProperties":false}`),
		Argv:       []string{"df", "-h", "."}, Cwd: ".", Output: config.OutputText, Timeout: 10 * time.Second, ReadOnly: true,
	}
	look.Risk, look.Approvals = config.RiskAuto, cfg.Approvals
	act := config.Command{
		Name: "restart_service", Description: "Restart one service on staging. (In this demo it only prints that it would.)",
		Parameters: []byte(`{"type":"object","properties":{"service":{"type":"string","enum":["api","web"]}},"required":["service"],"additionalProperties":false}`),
		Argv:       []string{"echo", "restarted {service} (a demo: nothing was really restarted)"}, Cwd: ".", Output: config.OutputText, Timeout: 10 * time.Second,
	}
	act.Risk, act.Approvals = config.RiskAsk, cfg.Approvals
	return []config.Command{look, act}
}
