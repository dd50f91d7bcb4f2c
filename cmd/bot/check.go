package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nod/agent/policy"
	"nod/chat"
	"nod/cmd/bot/config"
	"nod/cmd/bot/machine"
	"nod/llm/openai"
	"nod/memory/audit"
	"nod/memory/sqlite"
	"nod/tools"
	"nod/tools/mcp"
	"nod/tools/skill"
	"nod/trace/otlp"
)

type checkCommand struct {
	Config       string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	AcceptMCP    bool   `name:"accept-mcp" help:"Accept the tools that the MCP servers offer now. This writes a lock file beside the configuration, and changes nothing else."`
	AcceptSkills bool   `name:"accept-skills" help:"Accept the skills as they are now, likewise."`
}

// checkTimeout bounds each connection that is tried.
const checkTimeout = 15 * time.Second

// Run reports every mistake, and then tries the connections of the file.
func (c checkCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	cfg, err := config.Load(c.Config, config.LoadOptions{Getenv: env.Getenv})
	if err != nil {
		return usage(err)
	}
	if mistakes := cfg.Incomplete(); served(cfg) && len(mistakes) > 0 {
		return config.Mistakes(mistakes)
	}
	m := newMask(cfg)
	env.Out = m.Writer(env.Out)
	return m.Error(c.check(ctx, cfg, masked(cmd.logger(env, slog.LevelError), m), env))
}

// served says whether a file is for `bot run`; one without a platform is for `bot
// chat`, which needs nothing.
func served(cfg *config.Config) bool { return cfg.Slack != nil || cfg.Discord != nil }

// findings are the lines of a check, and how many of them tell of something bad.
type findings struct {
	out io.Writer
	bad int
}

func (f *findings) sayf(word, format string, a ...any) {
	if word == "FAIL" {
		f.bad++
	}
	_, _ = fmt.Fprintf(f.out, "%-6s%s\n", word, fmt.Sprintf(format, a...))
}

// check tries the connections of a file without mistakes.
func (c checkCommand) check(ctx context.Context, cfg *config.Config, log *slog.Logger, env Env) error {
	if c.AcceptMCP {
		if err := acceptMCP(ctx, cfg, log, env.Out); err != nil {
			return err
		}
	}
	if c.AcceptSkills {
		if err := acceptSkills(cfg, env.Out); err != nil {
			return err
		}
	}
	k, a, err := newKit(ctx, cfg, log, mcp.Fully)
	if err != nil {
		return err
	}
	defer func() { _ = k.close() }()
	f := &findings{out: env.Out}
	for _, t := range a.Tools {
		if err := tryTool(ctx, k.box, t.Name); err != nil {
			f.sayf("FAIL", "tool %s: %v", t.Name, err)
			continue
		}
		where := "tokens"
		if t.Hidden {
			where = "tokens, found by search"
		}
		f.sayf("ok", "tool %s: %s, %d %s", t.Name, t.Risk, tokensOf(a, t.Tool), where)
	}
	for _, t := range k.off {
		f.sayf("off", "tool %s: %s", t.name, t.why)
	}
	f.programs(cfg)
	if names := reacted(a.Tools); served(cfg) && len(names) > 0 {
		f.sayf("note", "a reaction approves %s: a program can put one in a person's name, but can't click; approvals: {by: [button]} for what hurts", strings.Join(names, ", "))
	}
	f.factors(ctx, cfg, a.Tools, log)
	for _, server := range k.concealed {
		f.sayf("warn", "mcp %s: there is no room for the tools in shown, so they are found by search like its others", server)
	}
	for _, s := range k.left {
		f.sayf("FAIL", "mcp %s: is left out: %s", s.name, s.why)
	}
	f.skills(k.skills)
	f.servers(k.mcp)
	return f.connections(ctx, cfg, log)
}

// acceptSkills writes the present skills into their lock file, and lists the changes.
func acceptSkills(cfg *config.Config, out io.Writer) error {
	path, now := tools.LockPath(cfg.File(), "skills"), skill.Accept(cfg.Shelf())
	var was skill.Lock
	if _, err := tools.ReadLock(path, &was); err != nil {
		return usage(err)
	}
	for _, name := range slices.Sorted(maps.Keys(now.Skills)) {
		if was.Skills[name] != now.Skills[name] {
			_, _ = fmt.Fprintf(out, "accepted  skill %s\n", name)
		}
		delete(was.Skills, name)
	}
	for _, name := range slices.Sorted(maps.Keys(was.Skills)) {
		_, _ = fmt.Fprintf(out, "removed   skill %q\n", name)
	}
	if err := tools.WriteLock(path, now); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "wrote     %s\n", path)
	return nil
}

// skills lists the skills.
func (f *findings) skills(shelf *skill.Shelf) {
	for _, s := range shelf.All() {
		if why := shelf.Off(s.Name); why != "" {
			f.sayf("FAIL", "skill %s is off: %s; look at %s, and run bot check --accept-skills", s.Name, why, s.Path)
		} else {
			f.sayf("ok", "skill %s: accepted", s.Name)
		}
	}
}

// tryTool tries the service behind a tool.
func tryTool(ctx context.Context, box *tools.Box, name string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return box.Try(ctx, name)
}

// reacted lists the tools that change something and that a reaction approves.
func reacted(all policy.Set) (names []string) {
	for _, t := range all {
		if t.Risk == policy.Ask && !t.ReadOnly && chat.ByReaction.Approves(t.Rules.By) {
			names = append(names, t.Name)
		}
	}
	return names
}

// factors names approvers who need a code and have none. Of groups only the platform
// knows the members.
func (f *findings) factors(ctx context.Context, cfg *config.Config, all policy.Set, log *slog.Logger) {
	var names, lack []string
	for _, t := range all {
		if t.Risk == policy.Ask && chat.NeedsCode(t.Rules.By) {
			names, lack = append(names, t.Name), append(lack, t.Rules.AllApprovers()...)
		}
	}
	if len(names) == 0 {
		return
	}
	have, err := withCode(ctx, cfg, log)
	lack = slices.DeleteFunc(lack, func(rule string) bool {
		id, one := strings.CutPrefix(rule, "user:")
		return !one || slices.ContainsFunc(have, func(who string) bool { return strings.HasSuffix(who, ":"+id) })
	})
	slices.Sort(lack)
	switch {
	case err != nil:
		f.sayf("warn", "a code approves %s, and nobody knows who has one: %v", strings.Join(names, ", "), err)
	case len(lack) > 0:
		f.sayf("warn", "a code approves %s, and these have none: %s; bot factor add gives one", strings.Join(names, ", "), strings.Join(slices.Compact(lack), ", "))
	default:
		f.sayf("note", "a code approves %s; with one: %s", strings.Join(names, ", "), cmp.Or(strings.Join(have, ", "), "nobody, see bot factor add"))
	}
}

// withCode lists the people who have one, and makes neither a store nor a key.
func withCode(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]string, error) {
	if _, err := os.Stat(cfg.Approvals.FactorKey); errors.Is(err, os.ErrNotExist) {
		return nil, nil // made with the first one
	}
	v, err := viewStore(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = v.Close() }()
	return factors(cfg, seen{v}).List(ctx)
}

// seen is the notes of a store that is only looked at.
type seen struct{ viewer }

// Swap implements factor.Notes.
func (seen) Swap(context.Context, string, []byte, []byte) (bool, error) {
	return false, errors.ErrUnsupported
}

// programs names the programs of commands that can't run here. A rollout may bring
// them with the file, so that is no failure.
func (f *findings) programs(cfg *config.Config) {
	for _, c := range cfg.Tools.Commands {
		for _, argv := range [][]string{c.Argv, c.Preview} {
			if len(argv) == 0 {
				continue
			}
			_, err := exec.LookPath(argv[0])
			var search *exec.Error
			if !errors.As(err, &search) || errors.Is(err, exec.ErrDot) {
				continue
			}
			why := search.Err
			if stat := new(fs.PathError); errors.As(why, &stat) {
				why = stat.Err // which names it once more
			}
			f.sayf("warn", "tool %s: its program %s can't be run here: %v", c.Name, argv[0], why)
		}
	}
}

// trial is one connection to try, and returns its finding.
type trial struct {
	name string
	try  func(ctx context.Context) (string, error)
}

// connections tries every connection. The error says how many findings are bad.
func (f *findings) connections(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	for _, t := range trials(cfg, log) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		found, err := t.try(ctx)
		cancel()
		if err != nil {
			f.sayf("FAIL", "%s: %v", t.name, err)
		} else {
			f.sayf("ok", "%s: %s", t.name, found)
		}
	}
	if f.bad > 0 {
		return fmt.Errorf("%d of the checks failed", f.bad)
	}
	return nil
}

// trials lists the connections to try. A new platform or store adds itself here.
func trials(cfg *config.Config, log *slog.Logger) []trial {
	out := []trial{
		{"store", func(ctx context.Context) (string, error) { return tryStore(ctx, cfg, log) }},
		{"audit key", func(ctx context.Context) (string, error) { return tryKey(ctx, cfg, log) }},
	}
	endpoints := cfg.Endpoints()
	for _, key := range slices.Sorted(maps.Keys(endpoints)) { // llm is the first
		out = append(out, trial{key, func(ctx context.Context) (string, error) { return tryModel(ctx, cfg, key, *endpoints[key]) }})
	}
	if cfg.Traces != nil {
		out = append(out, trial{"traces", func(ctx context.Context) (string, error) { return tryTraces(ctx, cfg.Traces) }})
	}
	if !served(cfg) {
		out = append(out, trial{"platform", func(context.Context) (string, error) { return "none, so this file is for `bot chat` only", nil }})
	}
	if cfg.Slack != nil {
		out = append(out, trial{"slack", func(ctx context.Context) (string, error) { return trySlack(ctx, cfg) }})
	}
	if cfg.Discord != nil {
		out = append(out, trial{"discord", func(ctx context.Context) (string, error) { return tryDiscord(ctx, cfg) }})
	}
	return out
}

// tryStore looks at the store without making or changing anything.
func tryStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (string, error) {
	if cfg.Store.Kind == config.Redis {
		lines, err := checkRedis(ctx, cfg, log)
		if err != nil {
			return "", err
		}
		return strings.Join(append([]string{cfg.Store.String()}, lines...), "\n      "), nil
	}
	path := cfg.Store.Path
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if dir, err := os.Stat(filepath.Dir(path)); err == nil && !dir.IsDir() {
			return "", fmt.Errorf("%s is not a folder", filepath.Dir(path))
		}
		return cfg.Store.String() + " will be made at the first start", machine.Creatable(path)
	}
	if err := errors.Join(sqlite.Writable(path), machine.Creatable(path+"-wal")); err != nil {
		return "", err
	}
	v, err := sqlite.View(ctx, path)
	if err != nil {
		return "", err
	}
	defer func() { _ = v.Close() }()
	if err := v.Ping(ctx); err != nil {
		return "", fmt.Errorf("%s can't be read: %w", path, err)
	}
	return cfg.Store.String(), nil
}

// tryKey tries the key of the audit log, against the store's checkpoint if the store is
// readable. An unreadable store is reported elsewhere.
func tryKey(ctx context.Context, cfg *config.Config, log *slog.Logger) (string, error) {
	var signed audit.Noter
	if _, err := os.Stat(cfg.Store.Path); cfg.Store.Kind != config.SQLite || err == nil {
		if store, err := viewStore(ctx, cfg, log); err == nil {
			defer func() { _ = store.Close() }()
			signed = store
		}
	}
	found, err := audit.Try(ctx, cfg.Audit.Key, signed)
	if _, missing := os.Stat(cfg.Audit.Key); err == nil && errors.Is(missing, os.ErrNotExist) {
		err = machine.Creatable(cfg.Audit.Key)
	}
	return found, err
}

// tryModel asks the endpoint about itself, which costs nothing.
func tryModel(ctx context.Context, cfg *config.Config, key string, e config.Endpoint) (string, error) {
	if offline(cfg, key, e) {
		return "the built-in demo model, as there is neither a key nor an address", nil
	}
	return openai.Try(ctx, openai.Options{BaseURL: e.BaseURL, APIKey: e.APIKey, Model: e.Model})
}

// tryTraces sends a request without spans, which leaves nothing behind.
func tryTraces(ctx context.Context, t *config.Traces) (string, error) {
	if err := otlp.New(senderOptions(t)).Try(ctx); err != nil {
		return "", fmt.Errorf("%w; look at traces.otlp and traces.headers", err)
	}
	address, _, _ := strings.Cut(t.OTLP, "?") // the query may hold a key
	return address, nil
}
