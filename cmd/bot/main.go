// Command bot is nod, an agent for team chat: `bot run` serves the platforms
// that a configuration names, `bot chat` is the same agent in this terminal.
//
// This package is flags and wiring: the only place that knows two names for
// one thing, the file's and the code's.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"nod/cmd/bot/config"
	"nod/cmd/bot/machine"
)

// The exit statuses of every command.
const (
	exitFine   = 0
	exitFailed = 1 // while running
	exitUsage  = 2 // unusable arguments or configuration
)

func main() {
	machine.Seal()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	endAtSecond(ctx)
	os.Exit(Main(ctx, os.Args[1:], System()))
}

// Env is the program's surroundings, which a test can replace.
type Env struct {
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) (string, bool)
}

// System is the world of a process.
func System() Env {
	return Env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.LookupEnv}
}

// commands is the command line.
type commands struct {
	LogFormat string `enum:"json,text" default:"json" help:"Logs go to standard error, as json lines or as text for people."`
	LogLevel  string `enum:"debug,info,warn,error," default:"" help:"Default: info; error for chat."`

	Run      runCommand      `cmd:"" help:"Serve every platform that the file configures, until SIGINT or SIGTERM."`
	Chat     chatCommand     `cmd:"" help:"The same agent in this terminal; no account needed."`
	Check    checkCommand    `cmd:"" help:"Report every mistake in the file and try each connection; changes nothing."`
	Manifest manifestCommand `cmd:"" help:"Print the app manifest (slack) or the invite URL and intents (discord)."`
	Audit    auditCommand    `cmd:"" help:"Print the audit log of approvals."`
	Factor   factorCommand   `cmd:"" help:"The second factor of those who approve."`
	Export   exportCommand   `cmd:"" help:"Send or print what other programs read."`
	Replay   replayCommand   `cmd:"" help:"What another configuration would have done with the recorded threads; runs no tool, posts nothing, changes nothing."`
	Spent    spentCommand    `cmd:"" help:"Tokens and money, against the limits."`
	Store    storeCommand    `cmd:"" help:"Copy a store into another one."`
	Page     pageCommand     `cmd:"" help:"Access to the operator's page."`
	Person   personCommand   `cmd:"" help:"What the store holds of one person: print it, or erase it."`
	Config   configCommand   `cmd:"" help:"About the configuration file."`
	Version  versionCommand  `cmd:"" help:"Version, commit, Go version."`
}

// usageError is a mistake of the caller.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Main runs one command and returns the exit status.
func Main(ctx context.Context, argv []string, env Env) int {
	var cmd commands
	exited, status := false, exitFine
	parser, err := kong.New(&cmd,
		kong.Name("bot"),
		kong.Description("nod: an agent for team chat that thinks in the open and asks before it acts."),
		kong.Writers(env.Out, env.Err),
		kong.Exit(func(code int) { exited, status = true, code }),
		kong.UsageOnError(),
	)
	if err != nil {
		panic(err)
	}
	if len(argv) == 0 {
		argv = []string{"--help"}
	}
	parsed, err := parser.Parse(argv)
	if exited {
		return status
	}
	if err != nil {
		_, _ = fmt.Fprintf(env.Err, "bot: %v\nTry: bot --help\n", err)
		return exitUsage
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.Bind(env)
	return report(env, parsed.Run(&cmd))
}

// report prints an error and gives its exit status.
func report(env Env, err error) int {
	if err == nil {
		return exitFine
	}
	_, _ = fmt.Fprintln(env.Err, err)
	var mistakes config.Mistakes
	var usage usageError
	if errors.As(err, &mistakes) || errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}
