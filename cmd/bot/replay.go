package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/view"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/lab"
	"nod/tools/mcp"
)

type replayCommand struct {
	Config      string        `required:"" help:"The configuration that is to be tried." type:"path" placeholder:"NEW"`
	Store       string        `help:"Where the recorded threads are, written as in the file. Default: the file's store." placeholder:"URL"`
	Since       ago           `default:"7d" help:"Turns that were opened since then, such as 36h or 7d."`
	Thread      chat.ThreadID `help:"Of one thread only: platform/channel/root, as the log names it." placeholder:"T"`
	Mode        string        `enum:"calls,turns,rules" default:"calls" help:"calls: each recorded model call asked anew; turns: whole turns with recorded results; rules: no model, only what would have been asked or run."`
	JSON        bool          `name:"json" help:"The report as JSON."`
	Yes         bool          `help:"Do not ask before the recorded texts are sent."`
	Cases       string        `xor:"cases" help:"Run the cases of a file instead: a line for each, exit 1 when one fails." type:"path" placeholder:"FILE"`
	ExportCases string        `xor:"cases" help:"Write the turns that got 👎 as cases into a new file, and do nothing else." type:"path" placeholder:"FILE"`
}

// Run replays, runs cases, or exports them.
func (c replayCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg, err := load(c.Config, env)
	if err != nil {
		return err
	}
	if c.Store != "" {
		if cfg.Store, err = config.ParseStore(c.Store); err != nil {
			return usage(fmt.Errorf("--store: %w", err))
		}
	}
	m := newMask(cfg)
	log := masked(cmd.logger(env, slog.LevelWarn), m)
	return m.Error(c.run(ctx, cfg, log, env))
}

func (c replayCommand) run(ctx context.Context, cfg *config.Config, log *slog.Logger, env Env) error {
	scope := scope{c.Since.time(), c.Thread}
	if c.ExportCases != "" {
		return exportCases(ctx, cfg, log, scope, c.ExportCases, env)
	}
	k, a, err := newKit(ctx, cfg, log, mcp.Never)
	if err != nil {
		return err
	}
	defer func() { _ = k.close() }()
	for _, t := range k.off {
		_, _ = fmt.Fprintf(env.Err, "replay: the tool %s is off here, and so is not in the prompts: %s\n", t.name, t.why)
	}
	l := &lab.Lab{Agent: a, Model: maskedModel{newModels(cfg, log), newMask(cfg)}, Mode: lab.Mode(c.Mode)}
	if c.Cases != "" {
		return runCases(ctx, l, c.Cases, env)
	}
	return c.replay(ctx, cfg, log, l, scope, env)
}

// replay replays the recorded turns and reports.
func (c replayCommand) replay(ctx context.Context, cfg *config.Config, log *slog.Logger, l *lab.Lab, s scope, env Env) error {
	past, err := openPast(ctx, cfg, log, s)
	if err != nil {
		return err
	}
	defer past.close()
	l.Blob = past.Blob
	if l.Agent.Key, err = past.Noted(ctx, noteKey); err != nil { // the key of the recorded grants
		return fmt.Errorf("read the key of the store: %w", err)
	}
	if l.Mode != lab.Rules {
		ok, err := c.confirm(ctx, cfg, l.Agent, past, env)
		if err != nil || !ok {
			return err
		}
	}
	report, failed, err := past.replay(ctx, l, workers(cfg), env.Err)
	if err != nil {
		return err
	}
	if c.JSON {
		err = report.JSON(env.Out)
	} else {
		err = report.Text(env.Out, l.Mode)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("replay: %d turns could not be replayed, and are not in the report", failed)
	}
	return err
}

// workers is how many turns are replayed at once.
func workers(cfg *config.Config) int {
	if cfg.LLM.Parallel > 0 {
		return cfg.LLM.Parallel
	}
	return 4
}

// confirm names the destination and the approximate cost of the recorded texts, and
// asks.
func (c replayCommand) confirm(ctx context.Context, cfg *config.Config, a *agent.Agent, past *past, env Env) (bool, error) {
	n, err := past.count(ctx)
	if err != nil {
		return false, err
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "replay: %d turns of %d threads, %d model calls. ", n.turns, n.threads, n.calls)
	away := destinations(cfg)
	if len(away) == 0 {
		out.WriteString("The recorded texts stay on this machine: the model is the built-in demo, a script. ")
	} else {
		fmt.Fprintf(out, "The recorded texts go to %s%s. ", strings.Join(away, ", or "), n.price(a.Prices))
	}
	out.WriteString("No tool runs, nothing is posted, nothing is changed.\n")
	if _, err := io.WriteString(env.Err, out.String()); err != nil || c.Yes || len(away) == 0 || n.turns == 0 {
		return err == nil, err
	}
	if err := env.agreed(); err != nil {
		return false, fmt.Errorf("replay: %w, to send the texts", err)
	}
	return true, nil
}

// destinations are the models that a thread, a room or the file may choose, but for the
// built-in one.
func destinations(cfg *config.Config) (out []string) {
	add := func(key string, e config.Endpoint) {
		if !offline(cfg, key, e) {
			out = append(out, host(e.BaseURL)+", model "+e.Model)
		}
	}
	add("llm", cfg.LLM.Endpoint)
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		add("models."+name, cfg.Models[name].Endpoint)
	}
	return out
}

// agreed asks whether to go on.
func (e Env) agreed() error {
	_, _ = fmt.Fprint(e.Err, "Go on? [y/N] ")
	line, err := bufio.NewReader(e.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if word := strings.ToLower(strings.TrimSpace(line)); word != "y" && word != "yes" {
		return errors.New("not done; write y, or give --yes")
	}
	return nil
}

// price estimates the cost of a replay.
func (n counted) price(p *view.Prices) string {
	if n.usage.Prompt == 0 {
		return "; how many tokens that is the recording does not say"
	}
	text := fmt.Sprintf(": about %d tokens in and %d out", n.usage.Prompt, n.usage.Completion)
	if p == nil {
		return text + ", at a cost that is not known, as llm.prices is not set"
	}
	return text + fmt.Sprintf(", about $%.2f", p.Cost(n.usage, ""))
}

// host is the model's host, without the secret parts of its address.
func host(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "an address that can't be read"
	}
	return u.Host
}

// scope is which turns are meant.
type scope struct {
	since  time.Time
	thread chat.ThreadID // zero: all
}
