package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"nod/adapters/operator"
	"nod/cmd/bot/config"
	"nod/memory/audit"
)

// operate makes the operator's page; nil where there is none. Its link goes to out,
// which is no log.
func (p *program) operate(out io.Writer, platforms map[string]platform) (*operator.Page, error) {
	if !hasPage(p.cfg) {
		return nil, nil
	}
	page, err := operator.New(operator.Options{
		Address: p.cfg.HTTP.Page, Store: p.store, Threads: p.lists, Platforms: slices.Sorted(maps.Keys(platforms)),
		Guides: guides(platforms), Audit: p.audited(),
		Agent: p.deciding.Load, Limits: limits(p.cfg), Texts: p.cfg.HTTP.PageTexts, Mask: p.mask.Text, Logger: p.log, Now: time.Now,
		Print: func(line string) { _, _ = fmt.Fprintln(out, line) },
		Health: func(ctx context.Context) map[string]any {
			_, state := p.state(ctx, platforms)
			for name, up := range p.kit.mcp.Up() {
				state["mcp "+name] = connected(up)
			}
			for _, s := range p.kit.skills.All() {
				state["skill "+s.Name] = cmp.Or(p.kit.skills.Off(s.Name), "ok")
			}
			return state
		},
		Facts: append([][2]string{
			{"version", version + ", commit " + revision() + ", " + runtime.Version()},
			{"store", p.cfg.Store.String()},
			{"model", modelName(p.cfg)},
			{"metrics", "http://" + p.cfg.HTTP.Listen + "/metrics"},
		}, roomLines(p.cfg)...),
	})
	if err != nil {
		return nil, fmt.Errorf("http.page: %w", err)
	}
	return page, nil
}

// roomLines say in which channels something is different, and what.
func roomLines(cfg *config.Config) (out [][2]string) {
	for i, r := range cfg.Rooms {
		var has []string
		for _, key := range []struct{ name, text string }{
			{"instructions", "instructions"},
			{"instructions_file", "instructions"},
			{"model", "model " + r.Model},
			{"tools", "tools " + strings.Join(r.Tools, " ")},
			{"skills", "skills " + strings.Join(r.Skills, " ")},
			{"approvals", "stricter approvals"},
		} {
			if cfg.Written(fmt.Sprintf("channels[%d].%s", i, key.name)) {
				has = append(has, key.text)
			}
		}
		out = append(out, [2]string{"room " + strings.Join(r.In, ", "), strings.Join(has, ", ")})
	}
	return out
}

func connected(up bool) string {
	if up {
		return "ok"
	}
	return "not connected"
}

// guides are the adapters that know names.
func guides(platforms map[string]platform) map[string]operator.Guide {
	out := map[string]operator.Guide{}
	for name, a := range platforms {
		if g, ok := a.(operator.Guide); ok {
			out[name] = g
		}
	}
	return out
}

// audited is the audit log for the page.
func (p *program) audited() operator.Audit {
	return operator.Audit{
		Checkpoint: func(ctx context.Context) (at time.Time, signed bool, err error) {
			own, err := audit.FindKey(p.cfg.Audit.Key)
			if err != nil || own == nil {
				return time.Time{}, false, err
			}
			key, _ := own.Public().(ed25519.PublicKey)
			c, _, signed, err := audit.Newest(ctx, p.store, key)
			return c.At, signed, err
		},
		Verify: func(ctx context.Context) (found string, whole bool, err error) {
			report, err := verifyStore(ctx, p.cfg, p.store, nil)
			if err != nil {
				return "", false, err
			}
			var out strings.Builder
			err = tellReport(&out, report)
			return out.String(), err == nil, nil
		},
		Export: func(ctx context.Context, w io.Writer) error {
			return export(ctx, p.cfg, Env{Out: w, Err: io.Discard}, p.store, audit.ExportOptions{})
		},
	}
}
