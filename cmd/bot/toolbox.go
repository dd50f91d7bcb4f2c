package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"nod/agent"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/tools"
	"nod/tools/command"
	"nod/tools/details"
	"nod/tools/mcp"
	"nod/tools/skill"
	"nod/tools/team"
)

// kit is the tools of a file: those that work, each with its rules, and those
// that are off for want of something.
type kit struct {
	box   *tools.Box
	rules map[string]config.ToolRules // by the tool's name
	off   []offTool
	left  []offTool      // servers whose tools there is no room for
	stops []func() error // end processes of tools
	// forgets are told that a thread was erased.
	forgets []func(chat.ThreadID) error
	mcp     *mcp.Servers
	served  map[string]bool // tools of mcp servers, by name
	// concealed are servers of which no tool is shown: there is no room.
	concealed []string
	skills    *skill.Shelf
	team      team.Search

	list []tools.Tool
	errs []error
	ask  mcp.Ask
}

// offTool is a tool that the file wants and that can't work here.
type offTool struct{ name, why string }

// newKit makes the tools that the file switches on, and the agent that has them. ask says how
// long it waits for servers.
func newKit(ctx context.Context, cfg *config.Config, log *slog.Logger, ask mcp.Ask) (*kit, *agent.Agent, error) {
	k := &kit{ask: ask, rules: map[string]config.ToolRules{}}
	err := k.fill(ctx, cfg, log)
	var a *agent.Agent
	if err == nil {
		a, err = fitting(cfg, k)
	}
	if err != nil {
		return nil, nil, usage(errors.Join(err, k.close()))
	}
	return k, a, nil
}

// fill makes the tools.
func (k *kit) fill(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	for _, on := range cfg.Builtins() {
		made, err := on.Keys.Make(ctx, toolHost(on.Name, cfg, log))
		k.add(on.Name, *on.Rules, err, made.Tools...)
		if made.Close != nil {
			k.stops = append(k.stops, made.Close)
		}
		if made.Forget != nil {
			k.forgets = append(k.forgets, made.Forget)
		}
	}
	for _, c := range cfg.Tools.Commands {
		k.add(c.Name, c.ToolRules, nil, command.New(c.Keys))
	}
	k.add("details", config.ToolRules{Risk: tools.Auto}, nil, details.New())
	if cfg.Slack != nil && cfg.Slack.Search {
		k.add(team.Name, config.ToolRules{Risk: tools.Auto}, nil, k.team.Tool())
	}
	k.errs = append(k.errs, k.shelve(cfg, log))
	err := errors.Join(k.errs...)
	if err == nil { // no server is started for a file that has mistakes
		err = k.servers(ctx, cfg, log)
	}
	if err == nil {
		k.box, err = tools.NewBox(k.list...)
	}
	return err
}

// shelve takes the skills, and the tool that reads them.
func (k *kit) shelve(cfg *config.Config, log *slog.Logger) error {
	var lock skill.Lock
	if len(cfg.Shelf()) == 0 {
		return nil
	}
	if _, err := tools.ReadLock(tools.LockPath(cfg.File(), "skills"), &lock); err != nil {
		return err
	}
	k.skills = skill.NewShelf(cfg.Skills, cfg.Shelf(), lock, log)
	k.add(skill.Name, config.ToolRules{Risk: tools.Auto}, nil, k.skills.Tool())
	return nil
}

// toolHost is the surroundings of a built-in tool. Its folder is not beside the store:
// root's sandbox is another user, who must be able to enter it. Bots with different stores,
// which may have different threads of one name, have different ones. The demo model has no
// endpoint.
func toolHost(tool string, cfg *config.Config, log *slog.Logger) tools.Host {
	store := sha256.Sum256([]byte(cfg.Store.Path + cfg.Store.URL.Reveal()))
	folder := fmt.Sprintf("nod-%s-%d-%x", tool, os.Geteuid(), store[:6])
	h := tools.Host{Folder: filepath.Join(os.TempDir(), folder), Keep: cfg.Memory.Keep, Log: log}
	if u, err := url.Parse(cfg.Proxy.Reveal()); err == nil && cfg.Proxy.IsSet() {
		h.Proxy = u
	}
	if !cfg.Offline() {
		h.BaseURL, h.APIKey = cfg.LLM.BaseURL, cfg.LLM.APIKey
	}
	return h
}

// forget erases the tools' data of a thread.
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
		t.Risk = rules.Risk
		k.list = append(k.list, t)
	}
}

// close ends the tools' processes.
func (k *kit) close() error {
	var errs []error
	for _, stop := range k.stops {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
