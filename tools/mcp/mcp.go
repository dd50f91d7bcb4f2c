// Package mcp makes tools of the servers that a configuration names, which
// speak the Model Context Protocol
// (https://modelcontextprotocol.io/specification) over HTTP or as child
// processes.
//
// A server is somebody else's program, and says of its tools what it likes, at
// any time. The danger is the swap: a tool that was harmless when somebody
// decided to use it is described otherwise tomorrow, takes one more parameter,
// or no longer says that it deletes things. So every tool is pinned to the
// definition that somebody decided on: its name, its description, its parameters
// and what it hints at. A tool that differs from its pin is off until somebody
// decides again.
//
// There are two pins. The lock file holds the definitions that an operator has
// accepted with `bot check --accept-mcp`. It is a file beside the configuration
// and not a record in the store, because it is a decision of the same kind: it
// is reviewed and rolled out with the configuration, every replica has the same,
// and no server and no first start can write it. With it the tools are known
// even while the server is down.
//
// A server without an entry there is pinned to what it offers at this start, for
// as long as the process lives. That is trust on first use, with a new first use
// at every start. It is told in the log each time, and stays because trying a
// server must not begin with paperwork. A server that is down at such a start is
// pinned to what it shows when it comes ([Servers.Late]).
//
// A server's word on a tool's danger can only add to the word of the configuration, as
// the server speaks to its own advantage.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"nod/chat/patience"
	"nod/llm"
	"nod/setting"
	"nod/tools"
)

// Server is one server, over HTTP (URL) or as a child process (Command, without a shell):
// the keys of an item of tools.mcp. A pattern is one of [path.Match], on the server's own
// names of its tools; a slash is a letter like any other.
type Server struct {
	Name        string                    `yaml:"name" schema:"tool" missing:"a name such as restart_service" doc:"Of the server, unique in the file"`
	URL         setting.Secret            `yaml:"url" schema:"url" doc:"Of a server over HTTP"`
	Command     []string                  `yaml:"command" schema:"some" want:"must name a program, such as [npx, -y, some-server]" doc:"Program and arguments of a server over stdio"`
	Headers     map[string]setting.Secret `yaml:"headers" reload:"yes" doc:"Sent with every request to url"`
	ReadOnly    []string                  `yaml:"read_only" schema:"globs" doc:"Patterns on the server's tool names, of those that change nothing"`
	Sends       map[string][]string       `yaml:"sends" doc:"By pattern on the server's tool names: parameters whose value goes to a place outside. Absent: found in what a tool says of itself, and by names and values that are those of an address"`
	Risk        Risks                     `yaml:"risk" default:"ask" doc:"By pattern on the server's tool names; the strictest matching pattern wins. Default ask"`
	Tools       []string                  `yaml:"tools" schema:"globs,some" default:"[\"*\"]" want:"would leave none of its tools; write patterns such as [\"get_*\"], or remove the line" doc:"Patterns on the server's tool names, of those that are used. Default [\"*\"]"`
	Timeout     time.Duration             `yaml:"timeout" schema:"positive" default:"60s" doc:"Of one call. Default 60s"`
	TaskTimeout time.Duration             `yaml:"task_timeout" schema:"positive" default:"24h" doc:"Of a call that the server runs as a task. Default 24h"`
	Shown       []string                  `yaml:"shown" schema:"globs" doc:"Patterns on the server's tool names, of those whose definitions stay in each prompt where the model finds tools by search (tools.find)"`

	spelt []string // Command as the file spells it; nil: as it is
	pace  pace     // of tests; the options' where it is zero
}

// Place makes the path of the program absolute. An approval stays bound to what the file
// says, so that it holds where the same file lies in another folder.
func (c *Server) Place(absolute func(path string) string) {
	c.spelt = slices.Clone(c.Command)
	tools.Place(c.Command, absolute)
}

// Risks are the risks of tools by patterns. The strictest that matches wins; where none
// does it is Ask.
type Risks map[string]tools.Risk

// Options configure [Connect].
type Options struct {
	Servers []Server
	Lock    *Lock    // what was accepted; nil: nothing
	Dir     string   // where programs run
	Taken   []string // names that other tools have
	Version string   // of this program, for the servers
	Logger  *slog.Logger
	Ask     Ask // how long the start waits for servers whose tools the Lock knows

	pace  pace // of tests
	limit limit
}

// Ask says how long [Connect] waits for a server whose tools the Lock knows.
type Ask int

// Values of Ask.
const (
	Briefly Ask = iota // a slow one comes later
	Fully              // as long as for others
	Never              // no server is started: the tools are those of the Lock
)

// limit is [patience.With], which ends a call that takes too long. Tests say when.
type limit func(ctx context.Context, most time.Duration, cause error) (context.Context, *patience.Limit, func())

// Servers are connections to servers, which are kept up until Close. It is safe
// for concurrent use; a nil *Servers has no tools.
type Servers struct {
	list  []*server
	taken []string
	stop  context.CancelFunc
	work  sync.WaitGroup
	late  chan struct{} // has a value when a server came after the start
}

// pace is how long things may take, and how large they may be.
type pace struct {
	wait    time.Duration // at start, for a server whose tools nobody knows
	glance  time.Duration // at start, for one whose tools are known
	attempt time.Duration // for connecting and listing
	call    time.Duration // for one call, where the server has no Timeout
	patient time.Duration // of a call, for a server that is connecting
	whom    time.Duration // until it must be known of which call a question is
	steady  time.Duration // a connection that lasted so long was a good one
	exit    time.Duration // for a program to end once its output has
	grace   time.Duration // from the end of standard input to SIGTERM, and on to SIGKILL
	least   time.Duration // between two attempts
	most    time.Duration
	bytes   int // of one message
}

var usual = pace{
	wait: 30 * time.Second, glance: 3 * time.Second, attempt: 30 * time.Second, call: 60 * time.Second, patient: 10 * time.Second, whom: 10 * time.Second,
	steady: time.Minute, exit: 500 * time.Millisecond, grace: 2 * time.Second,
	least: 500 * time.Millisecond, most: time.Minute, bytes: 32 << 20,
}

// Connect starts connecting to every server, and returns their tools. A server that is
// down is no error, and delays the others little; States describes it. An error is a
// mistake in the options.
func Connect(ctx context.Context, o Options) (*Servers, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.pace == (pace{}) {
		o.pace = usual
	}
	if o.limit == nil {
		o.limit = patience.With
	}
	var errs []error
	ss := &Servers{taken: o.Taken, late: make(chan struct{}, 1)}
	for _, cfg := range o.Servers {
		s, err := newServer(cfg, o)
		ss.list, errs = append(ss.list, s), append(errs, err)
		if err == nil {
			s.late = ss.late
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	// The connections outlive the context of the first signal: running calls are
	// finished first.
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	ss.stop = stop
	switch o.Ask {
	case Never:
		return ss, nil
	case Fully:
		o.pace.glance = o.pace.wait
	case Briefly:
	}
	for _, s := range ss.list {
		ss.work.Go(func() { s.run(live) })
	}
	ss.learn(ctx, o.pace.wait, o.pace.glance)
	return ss, nil
}

// Late receives when a server comes that was not there at the start, and whose tools
// nobody knew. They are pinned to its present ones, and are among Tools from then on.
func (ss *Servers) Late() <-chan struct{} {
	if ss == nil {
		return nil
	}
	return ss.late
}

// learn waits for the servers whose tools nobody knows, and pins them. For the
// others it waits a moment: a tool that is other than accepted is better not there
// than asked for, approved, and then not run.
func (ss *Servers) learn(ctx context.Context, most, glance time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	short, stop := context.WithTimeout(ctx, glance)
	defer stop()
	for _, s := range ss.list {
		if s.accepted {
			s.settled(short)
		}
	}
	for _, s := range ss.list {
		if !s.accepted {
			s.settled(ctx)
		}
		s.pin()
	}
}

// Close ends the connections, and the programs with everything that they
// started.
func (ss *Servers) Close() {
	if ss == nil {
		return
	}
	for _, s := range ss.list {
		close(s.closing)
	}
	ss.stop()
	ss.work.Wait()
}

// offer is a tool as the model gets to know it.
type offer struct {
	s          *server
	d          Definition
	as         string // its name for the model
	parameters []byte // its schema, as a model takes it
	risk       tools.Risk
	readOnly   bool
	raised     string // why the risk is more than the configuration says
}

// Tools are the tools of all servers as they are now, those of a server that is down, too,
// where they were accepted. A call of such a tool tells the model so.
func (ss *Servers) Tools() []tools.Tool {
	if ss == nil {
		return nil
	}
	var out []tools.Tool
	for _, o := range offers(ss.list, ss.taken) {
		sends, undeclared := o.s.sends(o.d)
		out = append(out, tools.Tool{
			Tool:     llm.Tool{Name: o.as, Description: o.d.Description, Parameters: o.parameters},
			Server:   o.s.Name,
			Shown:    matches(o.d.Name, o.s.Shown...),
			ReadOnly: o.readOnly,
			Outside:  true,
			Sends:    sends,

			Undeclared: undeclared,
			Unaccepted: !o.s.accepted,
			Definition: o.definition(),

			Risk:     o.risk,
			Timeout:  o.s.Timeout,
			NotReady: func(ctx context.Context) string { return o.s.notReady(ctx, o) },
			Run: func(ctx context.Context, in tools.Input) (llm.Result, error) {
				return o.s.call(ctx, o, in)
			},
		})
	}
	return out
}

// definition is the definition that an approval binds.
func (o offer) definition() string {
	command := o.s.spelt
	if command == nil {
		command = o.s.Command
	}
	raw, err := json.Marshal([]any{o.s.URL.Reveal(), command, o.d})
	if err != nil {
		return "" // it was read from JSON
	}
	return string(raw)
}

// offers makes tools of the pinned definitions.
func offers(list []*server, taken []string) []offer {
	var out []offer
	for _, s := range list {
		for _, d := range s.usable() {
			parameters, err := d.forModel()
			if err != nil {
				s.log.Warn("a tool of an mcp server can't be used", "server", s.Name, "tool", d.Name, "error", err)
				continue
			}
			o := offer{s: s, d: d, parameters: parameters}
			o.risk, o.readOnly, o.raised = s.judge(d)
			out = append(out, o)
		}
	}
	named(out, taken)
	return out
}

// newServer refuses impossible options.
func newServer(cfg Server, o Options) (*server, error) {
	s := &server{
		Server: cfg, pace: cmp.Or(cfg.pace, o.pace), limit: o.limit, log: o.Logger, dir: o.Dir, version: o.Version,
		changed: make(bell), closing: make(chan struct{}), wake: make(chan struct{}, 1), relist: make(chan struct{}, 1),
		fault: &fault{},
	}
	if cfg.URL.IsSet() {
		web, err := newWeb(cfg, s.pace.bytes, s.fault)
		if err != nil {
			return nil, fmt.Errorf("set up mcp server %q: %w", cfg.Name, err)
		}
		s.web = web
	}
	if s.Timeout == 0 {
		s.Timeout = s.pace.call
	}
	s.TaskTimeout = cmp.Or(s.TaskTimeout, 24*time.Hour)
	if list, ok := o.Lock.of(cfg.Name); ok {
		s.accepted, s.pins = true, cfg.wanted(list)
	}
	return s, nil
}
