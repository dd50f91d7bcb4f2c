package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"nod/adapters/operator"
	workspace "nod/adapters/web"
	"nod/agent"
	"nod/agent/run"
	"nod/cmd/bot/config"
	"nod/cmd/bot/control"
	"nod/memory"
	"nod/memory/audit"
	"nod/memory/factor"
	"nod/memory/person"
)

type pageCommand struct {
	Link   orderCommand `cmd:"" help:"Print a new link to the operator's page; it works once, and lives 10 minutes."`
	Revoke orderCommand `cmd:"" help:"End every browser's access to the pages."`
}

type factorCommand struct {
	Add    personOrder  `cmd:"" set:"who=slack:U…, discord:ID or terminal:local." help:"Give a person a secret, and print its otpauth address for their authenticator, once."`
	List   orderCommand `cmd:"" help:"Name the people who have one."`
	Remove personOrder  `cmd:"" set:"who=As it was added." help:"Take a person's secret away."`
}

type personCommand struct {
	Export personOrder        `cmd:"" set:"who=slack:U… or discord:ID." help:"Print a JSON line for each message, vote and file name of a person."`
	Erase  personEraseCommand `cmd:"" help:"Take a person out of the store, for good."`
}

// orderCommand is an order of the name that it has on the command line.
type orderCommand struct {
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
}

// Run gives the order.
func (c orderCommand) Run(ctx context.Context, cmd *commands, env Env, line *kong.Context) error {
	return order{c.Config, line.Selected().Path(), nil}.run(ctx, cmd, env)
}

// personOrder is one about a person.
type personOrder struct {
	User   string `arg:"" help:"${who}"`
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
}

// Run gives the order.
func (c personOrder) Run(ctx context.Context, cmd *commands, env Env, line *kong.Context) error {
	return order{c.Config, line.Selected().Path(), []string{c.User}}.run(ctx, cmd, env)
}

type personEraseCommand struct {
	User   string `arg:"" help:"slack:U… or discord:ID."`
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	Yes    bool   `help:"Do not ask first."`
}

// Run erases a person.
func (c personEraseCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	erase := order{c.Config, "person erase", []string{c.User}}
	if err := erase.names(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(env.Err, "person: this erases what %s wrote, the answers and results of those turns, and their name in the audit log. Nothing brings it back.\n", c.User)
	if !c.Yes {
		if err := env.agreed(); err != nil {
			return fmt.Errorf("person: %w, to erase", err)
		}
	}
	return erase.run(ctx, cmd, env)
}

type spentCommand struct {
	Config string `required:"" help:"The configuration file." type:"path" placeholder:"FILE"`
	Since  ago    `default:"30d" help:"The days since then, such as 7d. Default: 30d." placeholder:"30d"`
	By     string `enum:"person,channel,model,day" default:"person" help:"person, channel, model or day. Default: person."`
	Format string `enum:"text,csv,json" default:"text" help:"text, csv or json. Default: text."`
}

// Run prints what was spent.
func (c spentCommand) Run(ctx context.Context, cmd *commands, env Env) error {
	return order{c.Config, "spent", []string{time.Duration(c.Since).String(), c.By, c.Format}}.run(ctx, cmd, env)
}

// order is a command that the running service executes, or where none runs this
// program, on the store alone.
type order struct {
	file string
	name string
	args []string
}

// neededByOrders are keys of the file that mean the same for the service and for an
// order.
var neededByOrders = slices.Concat(lookedAt, []string{
	"http.page", "approvals.factor_key", "limits.per_person_per_day", "limits.per_thread_per_day", "limits.per_day",
	"llm.prices.input", "llm.prices.cached", "llm.prices.output",
})

func (o order) run(ctx context.Context, cmd *commands, env Env) error {
	cfg, err := config.Load(o.file, config.LoadOptions{Lenient: true, Needs: neededByOrders, Getenv: env.Getenv})
	if err != nil {
		return usage(err)
	}
	if o.name == "page link" && !hasPage(cfg) {
		return usage(errNoPage)
	}
	if err := o.names(); err != nil {
		return err
	}
	if err := control.Ask(ctx, sockets(cfg), o.name, o.args, env.Out); !errors.Is(err, control.ErrNobody) {
		return err
	}
	store, err := openStore(ctx, cfg, cmd.logger(env, slog.LevelWarn))
	if err != nil {
		return unusable(err)
	}
	defer func() { _ = store.Close() }()
	return clerk{cfg, store, store, nil}.commands()[o.name](ctx, o.args, env.Out)
}

// ofPeople are the orders that name somebody.
var ofPeople = []string{"factor add", "person export", "person erase"}

// names says that an order names nobody, where it should.
func (o order) names() error {
	if !slices.Contains(ofPeople, o.name) || user.MatchString(o.args[0]) {
		return nil
	}
	return usage(fmt.Errorf("%q names nobody; write slack:U…, discord:ID or terminal:local", o.args[0]))
}

// sockets are the places where the service of a file may listen for commands: beside the
// file, or where that folder is read-only, beside the audit key.
func sockets(cfg *config.Config) []string {
	beside := cfg.File() + ".sock"
	return slices.Compact([]string{beside, filepath.Join(filepath.Dir(cfg.Audit.Key), filepath.Base(beside))})
}

// clerk executes orders.
type clerk struct {
	cfg   *config.Config
	store memory.Full
	lists memory.Lister
	page  *operator.Page // nil: there is none, or no service runs
}

// commands are all orders by name. A further one is added here.
func (c clerk) commands() map[string]control.Command {
	return map[string]control.Command{
		"factor add":    c.factorAdd,
		"factor list":   c.factorList,
		"factor remove": c.factorRemove,
		"page link":     c.pageLink,
		"page revoke":   c.pageRevoke,
		"person export": c.personExport,
		"person erase":  c.personErase,
		"spent":         c.spent,
	}
}

var (
	errNoPage = errors.New("there is no operator's page: set http.page, such as 127.0.0.1:8081, and restart nod")
	errNoPort = errors.New("no service runs, and http.page leaves its port open: set one, or start nod")
)

func hasPage(cfg *config.Config) bool { return cfg.HTTP != nil && cfg.HTTP.Page != "" }

func (c clerk) pageLink(ctx context.Context, _ []string, out io.Writer) error {
	switch {
	case !hasPage(c.cfg):
		return errNoPage
	case c.page == nil && strings.HasSuffix(c.cfg.HTTP.Page, ":0"):
		return errNoPort
	}
	address := c.cfg.HTTP.Page
	if c.page != nil {
		address = c.page.Address()
	}
	line, err := operator.Link(ctx, c.store, address)
	return said(out, line, err)
}

func (c clerk) spent(ctx context.Context, args []string, out io.Writer) error {
	since, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	from := time.Now().Add(24*time.Hour - max(since, 24*time.Hour)) // today is one of the days
	return operator.Report(ctx, operator.Options{
		Store: c.store, Threads: c.lists, Platforms: everyPlatform, Limits: limits(c.cfg), Mask: newMask(c.cfg).Text, Now: time.Now,
		Agent: func() *agent.Agent { return &agent.Agent{Prices: prices(c.cfg)} },
	}, args[1], args[2], from, out)
}

func (c clerk) pageRevoke(ctx context.Context, _ []string, out io.Writer) error {
	ended, err := operator.Access(c.store, time.Now).Revoke(ctx)
	if err != nil {
		return err
	}
	more, err := workspace.Access(c.store, time.Now).Revoke(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "ended the access of %d browsers, and all links\n", ended+more)
	return err
}

// user matches how people are named, by the platform on which they approve.
var user = regexp.MustCompile(`^(slack:[UW][A-Z0-9]+|discord:[0-9]+|terminal:local|web:[a-z]+)$`)

// factors are the second factors in a store.
func factors(cfg *config.Config, store factor.Notes) factor.Factors {
	return factor.Factors{Notes: store, Now: time.Now, Key: func() ([]byte, error) {
		key, err := audit.Key(cfg.Approvals.FactorKey)
		if err != nil {
			return nil, err
		}
		return key.Seed(), nil
	}}
}

func (c clerk) factorAdd(ctx context.Context, args []string, out io.Writer) error {
	address, err := factors(c.cfg, c.store).Add(ctx, args[0])
	return said(out, address, err)
}

// said writes a line, unless there was an error.
func said(out io.Writer, line string, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(out, line)
	}
	return err
}

func (c clerk) factorList(ctx context.Context, _ []string, out io.Writer) error {
	all, err := factors(c.cfg, c.store).List(ctx)
	for _, who := range all {
		_, _ = fmt.Fprintln(out, who)
	}
	return err
}

func (c clerk) factorRemove(ctx context.Context, args []string, out io.Writer) error {
	ok, err := factors(c.cfg, c.store).Remove(ctx, args[0])
	if err == nil && !ok {
		err = fmt.Errorf("%s has none", args[0])
	}
	return said(out, "removed "+args[0], err)
}

// people are the people of a store.
func people(cfg *config.Config, store memory.Full, lists memory.Lister) (person.People, error) {
	key, err := audit.Key(cfg.Audit.Key)
	if err != nil {
		return person.People{}, err
	}
	return person.People{
		Store: store, Threads: lists, Key: key.Seed(), File: person.Beside(cfg.Audit.Key), Now: time.Now,
		Beside: func(ctx context.Context, who string) error {
			_, err := factors(cfg, store).Remove(ctx, who)
			return errors.Join(err, run.ForgetUsed(ctx, store, time.Now(), who))
		},
	}, nil
}

func (c clerk) personExport(ctx context.Context, args []string, out io.Writer) error {
	line := json.NewEncoder(out)
	return person.People{Store: c.store, Threads: c.lists}.Export(ctx, args[0], func(l person.Line) error { return line.Encode(l) })
}

func (c clerk) personErase(ctx context.Context, args []string, out io.Writer) error {
	p, err := people(c.cfg, c.store, c.lists)
	if err != nil {
		return err
	}
	found, err := p.Erase(ctx, args[0])
	if err != nil {
		return fmt.Errorf("erase %s, of which some was done; give the command again: %w", args[0], err)
	}
	_, err = fmt.Fprintf(out, "erased %s: %s\nWhat stays: the platform, traces and backups have their own copies. A restored copy of this store erases anew, by %s.\n",
		args[0], found, p.File)
	return err
}

// orders opens the way for orders, and gives the function that executes them until its
// ctx is done. A service that no order can reach is a nuisance, and no reason to stop.
func (p *program) orders(ctx context.Context, page *operator.Page) (obey func(ctx context.Context) error) {
	var errs []error
	for _, path := range sockets(p.cfg) {
		socket, err := control.Listen(ctx, path)
		if err == nil {
			return func(ctx context.Context) error {
				return socket.Serve(ctx, clerk{p.cfg, p.store, p.lists, page}.commands())
			}
		}
		errs = append(errs, err)
	}
	p.log.Warn("commands such as bot page link can't reach this process", "error", errors.Join(errs...))
	return func(context.Context) error { return nil }
}
