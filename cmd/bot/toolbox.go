package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"nod/chat"
	"nod/cmd/bot/config"
	"nod/tools"
	"nod/tools/calculator"
	"nod/tools/chart"
	"nod/tools/clock"
	"nod/tools/command"
	"nod/tools/details"
	"nod/tools/fetch"
	"nod/tools/image"
	"nod/tools/mcp"
	"nod/tools/python"
	"nod/tools/search"
	"nod/tools/wikipedia"
)

// kit is the tools of a file: those that work, each with its rules, and those
// that are off for want of something.
type kit struct {
	box   *tools.Box
	rules map[string]config.ToolRules // by the tool's name
	off   []offTool
	left  []offTool      // servers whose tools there is no room for
	stops []func() error // end what the tools left running
	// forgets are told that a thread was erased.
	forgets []func(chat.ThreadID) error
	mcp     *mcp.Servers
	served  map[string]bool // tools of mcp servers, by name

	list  []tools.Tool
	errs  []error
	paper bool // they are only described: no server is started or asked
}

// offTool is a tool that the file wants and that can't work here.
type offTool struct{ name, why string }

// newKit makes the tools that the file switches on.
func newKit(ctx context.Context, cfg *config.Config, log *slog.Logger) (*kit, error) {
	return makeKit(ctx, cfg, log, &kit{})
}

func makeKit(ctx context.Context, cfg *config.Config, log *slog.Logger, k *kit) (*kit, error) {
	k.rules = map[string]config.ToolRules{}
	for _, on := range cfg.Builtins() {
		list, err := k.builtin(ctx, on.Name, cfg, log)
		k.add(on.Name, *on.Rules, err, list...)
	}
	for _, c := range cfg.Tools.Commands {
		t, err := command.New(command.Options{
			Name: c.Name, HumanName: c.NameForHuman, Description: c.Description, Parameters: c.Parameters,
			Argv: c.Argv, Stdin: c.Stdin, Env: c.Env, Cwd: c.Cwd, Output: string(c.Output),
			Timeout: c.Timeout, ReadOnly: c.ReadOnly, Outside: c.Outside, Sends: c.Sends, Risk: string(c.Risk),
			Preview: c.Preview, PreviewRequired: c.PreviewRequired,
		})
		k.add(c.Name, c.ToolRules, err, t)
	}
	k.add("details", config.ToolRules{Risk: config.Risk(tools.Auto)}, nil, details.New())
	err := errors.Join(k.errs...)
	if err == nil { // no server is started for a file that has mistakes
		err = k.servers(ctx, cfg, log)
	}
	if err == nil {
		k.box, err = tools.NewBox(k.list...)
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// builtin makes the tools of one key. A new one is a case here.
func (k *kit) builtin(ctx context.Context, name string, cfg *config.Config, log *slog.Logger) ([]tools.Tool, error) {
	switch t := cfg.Tools; name {
	case "calculator":
		return one(calculator.New(), nil)
	case "clock":
		return one(clock.New(time.Now), nil)
	case "wikipedia":
		return wikipedia.New(wikipedia.Options{Language: t.Wikipedia.Language, APIURL: t.Wikipedia.APIURL})
	case "fetch":
		return one(fetch.New(fetch.Options{Allow: t.Fetch.Allow, Deny: t.Fetch.Deny}))
	case "search":
		return one(search.New(search.Options{Provider: string(t.Search.Provider), APIURL: t.Search.APIURL, APIKey: t.Search.APIKey.Reveal()}))
	case "python":
		return k.python(ctx, cfg, log)
	case "chart":
		return one(chart.New(), nil)
	case "image":
		return one(image.New(image.Options{BaseURL: cfg.LLM.BaseURL, APIKey: cfg.LLM.APIKey.Reveal(), Model: t.Image.Model}))
	}
	return nil, fmt.Errorf("tools.%s: this build has no such tool", name)
}

func one(t tools.Tool, err error) ([]tools.Tool, error) { return []tools.Tool{t}, err }

// python makes the interpreter, where there is a sandbox for it. Its folders are
// not beside the store: a root's sandbox is another user, who must be able to
// enter them.
func (k *kit) python(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]tools.Tool, error) {
	t := cfg.Tools.Python
	p, err := python.New(ctx, python.Options{
		Dir:     filepath.Join(os.TempDir(), fmt.Sprintf("nod-python-%d-%s", os.Geteuid(), storeMark(cfg))),
		Timeout: t.Timeout, Memory: int64(t.Memory), Keep: cfg.Memory.Keep, Log: log,
	})
	if err != nil {
		return nil, err
	}
	k.stops = append(k.stops, p.Close)
	k.forgets = append(k.forgets, p.Forget)
	return one(p.Tool(), nil)
}

// storeMark tells the folders of bots apart that have different stores, and so
// may have different threads of one name.
func storeMark(cfg *config.Config) string {
	sum := sha256.Sum256([]byte(cfg.Store.Path + cfg.Store.URL.Reveal()))
	return hex.EncodeToString(sum[:6])
}

// forget erases what tools keep of a thread.
func (k *kit) forget(thread chat.ThreadID) error {
	var errs []error
	for _, f := range k.forgets {
		errs = append(errs, f(thread))
	}
	return errors.Join(errs...)
}

// add takes the tools of one key. A tool that misses something is off; any
// other error is the file's.
func (k *kit) add(name string, rules config.ToolRules, err error, list ...tools.Tool) {
	var missing *tools.Missing
	switch {
	case errors.As(err, &missing):
		k.off = append(k.off, offTool{name, missing.Why})
		return
	case err != nil:
		k.errs = append(k.errs, err)
		return
	}
	for _, t := range list {
		k.rules[t.Name] = rules
	}
	k.list = append(k.list, list...)
}

// close ends what the tools left running.
func (k *kit) close() error {
	var errs []error
	for _, stop := range k.stops {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
