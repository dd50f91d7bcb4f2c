package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"nod/adapters/operator"
)

// operate makes the operator's page; nil where there is none. Its link goes to out,
// which is no log.
func (p *program) operate(out io.Writer, platforms map[string]platform) (*operator.Page, error) {
	if !hasPage(p.cfg) {
		return nil, nil
	}
	page, err := operator.New(operator.Options{
		Address: p.cfg.HTTP.Page, Store: p.store, Threads: p.lists, Platforms: slices.Sorted(maps.Keys(platforms)),
		Agent: p.deciding.Load, Limits: limits(p.cfg), Texts: p.cfg.HTTP.PageTexts, Mask: newMask(p.cfg).Text, Logger: p.log,
		Print: func(line string) { _, _ = fmt.Fprintln(out, line) },
		Health: func(ctx context.Context) map[string]any {
			_, state := p.state(ctx, platforms)
			for name, up := range p.kit.mcp.Up() {
				state["mcp "+name] = connected(up)
			}
			return state
		},
		Facts: [][2]string{
			{"version", version + ", commit " + revision() + ", " + runtime.Version()},
			{"store", p.cfg.Store.String()},
			{"model", modelName(p.cfg)},
			{"metrics", "http://" + p.cfg.HTTP.Listen + "/metrics"},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("http.page: %w", err)
	}
	return page, nil
}

func connected(up bool) string {
	if up {
		return "ok"
	}
	return "not connected"
}
