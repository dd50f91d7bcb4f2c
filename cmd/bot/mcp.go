package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"nod/agent/policy"
	"nod/cmd/bot/config"
	"nod/tools"
	"nod/tools/mcp"
)

// servers adds the tools of the MCP servers. Their names keep clear of those
// that are there already.
func (k *kit) servers(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	if len(cfg.Tools.MCP) == 0 {
		return nil
	}
	var err error
	if k.mcp, err = connectMCP(ctx, cfg, mcp.Options{Taken: append(slices.Collect(maps.Keys(k.rules)), policy.FindTool, policy.UseTool), Logger: log, Ask: k.ask}); err != nil {
		return err
	}
	k.stops = append(k.stops, func() error {
		k.mcp.Close()
		return nil
	})
	k.serve(cfg)
	return nil
}

// serve adds the tools that the servers have now.
func (k *kit) serve(cfg *config.Config) {
	k.served = map[string]bool{}
	for _, t := range k.mcp.Tools() {
		k.served[t.Name] = true
		rules := config.ToolRules{Risk: t.Risk, Approvals: cfg.Approvals}
		for _, s := range cfg.Tools.MCP {
			if s.Name == t.Server {
				rules.For = s.For
			}
		}
		k.add(t.Name, rules, nil, t)
	}
}

// connectMCP connects to the servers of the file, which have to keep to the
// lock file beside it.
func connectMCP(ctx context.Context, cfg *config.Config, o mcp.Options) (*mcp.Servers, error) {
	lock, err := mcp.ReadLock(tools.LockPath(cfg.File(), "mcp"))
	if err != nil {
		return nil, err
	}
	o.Lock, o.Dir, o.Version = lock, filepath.Dir(cfg.File()), version
	for _, s := range cfg.Tools.MCP {
		o.Servers = append(o.Servers, s.Server)
	}
	return mcp.Connect(ctx, o)
}

// acceptMCP writes the servers' present tools into the lock file, and lists the
// changes.
func acceptMCP(ctx context.Context, cfg *config.Config, log *slog.Logger, out io.Writer) error {
	if len(cfg.Tools.MCP) == 0 {
		_, _ = fmt.Fprintln(out, "no mcp servers are configured, so there is nothing to accept")
		return nil
	}
	servers, err := connectMCP(ctx, cfg, mcp.Options{Logger: log, Ask: mcp.Fully})
	if err != nil {
		return usage(err)
	}
	defer servers.Close()
	path := tools.LockPath(cfg.File(), "mcp")
	if err := servers.Accept().Write(path); err != nil {
		return err
	}
	for _, s := range servers.States() {
		if s.Err != nil {
			_, _ = fmt.Fprintf(out, "kept      mcp %s: as it was, since %v\n", s.Server, s.Err)
			continue
		}
		for _, t := range s.Tools {
			switch {
			case t.Status == mcp.Gone:
				_, _ = fmt.Fprintf(out, "removed   mcp %s: %q\n", s.Server, t.Name)
			case t.Status != mcp.Fine || !s.Accepted:
				_, _ = fmt.Fprintf(out, "accepted  mcp %s: %q\n", s.Server, t.Name)
			}
			listChanges(out, t)
		}
	}
	_, _ = fmt.Fprintf(out, "wrote     %s\n", path)
	return nil
}

// servers lists the servers with the state of each tool.
func (f *findings) servers(servers *mcp.Servers) {
	for _, s := range servers.States() {
		if s.Err != nil {
			f.sayf("FAIL", "mcp %s: %v", s.Server, s.Err)
			if said := strings.TrimSpace(s.Stderr); said != "" {
				f.sayf("", "it wrote: %q", said)
			}
			continue
		}
		accepted := "accepted"
		if !s.Accepted {
			accepted = "none accepted yet: each start uses what it finds, and what they say of themselves counts as content from outside; look at them, and run bot check --accept-mcp"
		}
		usable := 0
		for _, t := range s.Tools {
			if t.Status == mcp.Fine {
				usable++
			}
		}
		number := fmt.Sprint(usable)
		if s.Offered > usable {
			number += fmt.Sprintf(" of %d", s.Offered)
		}
		f.sayf("ok", "mcp %s: %s tools, %s", s.Server, number, accepted)
		for _, p := range s.Idle {
			f.sayf("warn", "mcp %s: %s fits none of its tools, and so means nothing", s.Server, p)
		}
		for _, t := range s.Tools {
			f.served(s.Server, t)
		}
	}
}

// served compares a server's tool with the accepted one.
func (f *findings) served(server string, t mcp.ToolState) {
	const accept = "; look at it, and run bot check --accept-mcp"
	switch t.Status {
	case mcp.Changed, mcp.Gone:
		f.sayf("FAIL", "mcp %s: %q is off: %s%s", server, t.Name, t.Why, accept)
	case mcp.New:
		f.sayf("off", "mcp %s: %q is new: %s%s", server, t.Name, t.Why, accept)
	case mcp.Unusable:
		f.sayf("off", "mcp %s: %q: %s", server, t.Name, t.Why)
	default:
		raised := ""
		if t.Raised != "" {
			raised = ", asks for approval: " + t.Raised
		}
		f.sayf("ok", "mcp %s: %q is %s%s", server, t.Name, t.As, raised)
	}
	listChanges(f.out, t)
}

func listChanges(out io.Writer, t mcp.ToolState) {
	for _, c := range t.Changes {
		_, _ = fmt.Fprintf(out, "      %s\n", c)
	}
}
