package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"nod/adapters/terminal"
	workspace "nod/adapters/web"
	"nod/adapters/web/door"
	"nod/agent/run"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/llm/demo"
	"nod/memory"
	"nod/tools"
	"nod/tools/command"
)

// drainWait is how long a new process waits for the one before it to let go
// of the store's file.
const drainWait = 5 * time.Second

// demoPause is how long the demo model waits between words, where its answers are
// seen to grow.
const demoPause = 20 * time.Millisecond

type chatCommand struct {
	Config string `help:"The configuration file. Without one: the demo model, and a store in the state directory." type:"path" placeholder:"FILE"`
	Page   string `help:"Serve the workspace page beside the terminal, on a loopback address such as 127.0.0.1:8484." placeholder:"ADDRESS"`
}

// Run is the agent in this terminal.
func (c chatCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	if c.Page != "" {
		if err := door.Loopback(c.Page); err != nil {
			return usage(fmt.Errorf("--page: %w", err))
		}
	}
	cfg := config.Default(env.Getenv)
	if c.Config != "" {
		var err error
		if cfg, err = load(c.Config, env); err != nil {
			return err
		}
	} else {
		demonstrate(cfg, c.Page != "")
	}
	logs := &aside{Writer: env.Err}
	env.Err = logs
	log := cmd.logger(env, slog.LevelError)
	p, err := assemble(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer p.close()
	return p.chat(ctx, env, c.Page, logs)
}

// chat runs the terminal, the page where there is one, and the runner side by
// side until the terminal ends.
func (p *program) chat(ctx context.Context, env Env, address string, logs *aside) error {
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	inbox := p.inbox()
	in := &piped{Reader: env.In}
	term := terminal.New(terminal.Options{
		In: in, Out: env.Out, Screen: screen(env), Inbox: inbox,
		User: chat.User{Name: userName(env)}, Banner: p.banner(), Interrupts: interrupts, Files: p.files(env),
	})
	served := map[string]run.Platform{terminal.Thread.Platform: term}
	page, err := p.page(address, inbox, term)
	if err != nil {
		return err
	}
	if p.cfg.Offline() && (page != nil || screen(env).Live) {
		p.model = demo.Paced(p.model, demoPause)
	}
	all, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	runner := p.runner(served)
	if page != nil {
		served[workspace.Platform] = page
		observe := runner.Observe
		runner.Observe = func(run *memory.Run, e memory.Entry) {
			observe(run, e)
			page.Changed(run.Thread)
		}
		all.Go(func() error { return page.Run(ctx) })
	}
	if p.spans != nil {
		all.Go(func() error { return p.spans.run(ctx, p, served) })
	}
	all.Go(func() error { return runner.Run(ctx) })
	if screen(env).Live && screen(Env{In: env.In, Out: logs.Writer, Getenv: env.Getenv}).Live {
		logs.drawn(term.Print)
	}
	all.Go(func() error {
		defer stop()
		err := term.Run(ctx)
		logs.drawn(nil)
		if err == nil && page != nil && in.empty.Load() && !screen(env).Prompt {
			await(ctx, interrupts) // nobody ever wrote here; the page is what was asked for
		}
		signal.Stop(interrupts) // running work is waited for, unless another signal ends that
		return err
	})
	return all.Wait()
}

// piped is input that nobody types, and knows whether it ended before it held anything.
type piped struct {
	io.Reader
	held  bool
	empty atomic.Bool
}

// Read implements io.Reader.
func (p *piped) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.held = p.held || n > 0
	if errors.Is(err, io.EOF) && !p.held {
		p.empty.Store(true)
	}
	return n, err
}

// await returns when the program is interrupted.
func await(ctx context.Context, interrupts <-chan os.Signal) {
	select {
	case <-ctx.Done():
	case <-interrupts:
	}
}

// page makes the workspace page; nil where there is none.
func (p *program) page(address string, inbox run.Inbox, term *terminal.Adapter) (*workspace.Adapter, error) {
	if address == "" {
		return nil, nil
	}
	o := workspace.Options{Address: address, Inbox: inbox, Logger: p.log, Print: term.Print, Terminal: terminal.Thread, Notes: p.store, Now: time.Now}
	if p.cfg.Offline() {
		o.Hints = []string{"what is 17% of 2340?", "what time is it in Tokyo?", "draw a chart of 3, 5, 8, 4 and 9", "restart service api"}
		o.Together = []string{"deploy api, and let somebody else approve it"}
	}
	return workspace.New(o)
}

// files is the folder for files of tools: beside the store, or in the place of a store
// for a chat without a file.
func (p *program) files(env Env) string {
	store := cmp.Or(p.cfg.Store.Path, config.Default(env.Getenv).Store.Path)
	return filepath.Join(filepath.Dir(store), "files")
}

func (p *program) banner() string {
	about := "nod with " + p.cfg.LLM.Model + ". "
	if p.cfg.Offline() {
		about = "This is nod with its built-in demo model: a script, not a language model, and nothing leaves this machine.\n" +
			"Try: what is 17% of 2340?   |   what time is it in Tokyo?   |   draw a chart of 3, 5, 8   |   restart service api\n"
	}
	return about + "Words that work anywhere: help, steps, memory, stop, forget; attach PATH. Ctrl-D leaves."
}

// screen gives the abilities of the terminal, if it is one.
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

// demonstrate gives a chat without a file tools to try: charts, the team's own
// commands, and on the page, where there are several people, one that somebody
// else has to approve.
func demonstrate(cfg *config.Config, page bool) {
	const service = `{"type":"object","properties":{"service":{"type":"string","enum":["api","web"]}},"required":["service"],"additionalProperties":false}`
	cfg.SwitchOn("chart")
	cfg.Schedules.Least, cfg.Facts.Most = time.Minute, 50
	add := func(risk tools.Risk, keys command.Keys) *config.Command {
		keys.Timeout, keys.Cwd = 10*time.Second, "."
		cfg.Tools.Commands = append(cfg.Tools.Commands, config.Command{Keys: keys, ToolRules: config.ToolRules{Risk: risk, Approvals: cfg.Approvals}})
		return &cfg.Tools.Commands[len(cfg.Tools.Commands)-1]
	}
	add(tools.Auto, command.Keys{
		Name: "disk_free", Description: "Show how full the disk is. Takes no arguments.", Argv: []string{"df", "-h", "."}, ReadOnly: true,
		Parameters: []byte(`{"type":"object","properties":{},"additionalProperties":false}`),
	})
	add(tools.Ask, command.Keys{
		Name: "restart_service", Description: "Restart one service on staging. (In this demo it only prints that it would.)", Parameters: []byte(service),
		Argv: []string{"echo", "restarted {service} (a demo: nothing was really restarted)"},
	})
	if !page {
		return
	}
	deploy := add(tools.Ask, command.Keys{
		Name: "deploy", Description: "Deploy a service to production; somebody else has to approve it. (In this demo it only prints that it would.)", Parameters: []byte(service),
		Argv:    []string{"echo", "deployed {service} (a demo: nothing was really deployed)"},
		Preview: []string{"echo", "{service}: version 7 would replace version 6 on 2 machines (a demo)"}, PreviewRequired: true,
	})
	deploy.Approvals.Approvers, deploy.Approvals.ExcludeRequester = []string{"anyone"}, config.ExcludeTurn
}
