// Package command makes tools of a team's own programs. The one idea: each
// argument of the model's is one argument of the program, whole, and no shell ever
// sees it.
package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nod/llm"
	"nod/tools"
)

// What a command writes to standard output.
const (
	OutputText = "text"
	OutputJSON = "json"
	OutputFile = "file"
)

// Options is a program that a team offers as a tool, as the configuration
// describes it. command.md says what the fields mean, and what keeps an
// argument from becoming more than an argument.
type Options struct {
	Name        string
	HumanName   string
	Description string
	Parameters  json.RawMessage // JSON Schema; absent: no parameters
	Argv        []string        // templates, but for the first
	Stdin       string          // a template
	Env         []string        // names of variables that are passed on
	Cwd         string          // absent: where this process runs
	Output      string          // OutputText where it is empty
	Timeout     time.Duration   // 30 s where it is 0
	ReadOnly    bool
	Outside     bool     // strangers write what it prints
	Sends       []string // parameters whose values go to a place outside
	Risk        string   // Ask where it is empty
	// Preview is a program, a template like Argv, that says what a call would do and
	// changes nothing; none where it is empty. PreviewRequired: nobody may approve a
	// call whose preview failed.
	Preview         []string
	PreviewRequired bool
}

// New makes a tool of a program. It refuses what could never work: no
// program, a placeholder without a parameter, an unknown kind of output. The
// environment is read here, once.
func New(c Options) (tools.Tool, error) {
	cmd, err := newCommand(c)
	if err != nil {
		return tools.Tool{}, fmt.Errorf("set up command %q: %w", c.Name, err)
	}
	c = cmd.Options
	tool := tools.Tool{
		Tool:     llm.Tool{Name: c.Name, HumanName: c.HumanName, Description: c.Description, Parameters: c.Parameters},
		ReadOnly: c.ReadOnly,
		Outside:  c.Outside,
		Sends:    c.Sends,
		Risk:     c.Risk,
		Timeout:  c.Timeout,

		Definition: c.definition(),
		Run:        cmd.run,
	}
	if cmd.before != nil {
		tool.Preview, tool.PreviewRequired = cmd.preview, c.PreviewRequired
	}
	return tool, nil
}

// definition is what runs: whoever approves a call approves that.
func (c Options) definition() string {
	parts := []any{c.Argv, c.Stdin, c.Cwd, c.Env}
	if len(c.Preview) > 0 {
		parts = append(parts, c.Preview, c.PreviewRequired)
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return "" // strings alone can't fail
	}
	return string(raw)
}

// command is Options that are ready to run.
type command struct {
	Options
	program string     // absolute, or a name to be found in PATH
	argv    []template // behind the program
	stdin   template
	before  *command      // the preview; nil without one
	env     []string      // NAME=value
	grace   time.Duration // from SIGTERM to SIGKILL, and for output that stays open
}

func newCommand(c Options) (*command, error) {
	c = withDefaults(c)
	if c.Output != OutputText && c.Output != OutputJSON && c.Output != OutputFile {
		return nil, fmt.Errorf("the output is text, json or file, not %q", c.Output)
	}
	if c.Timeout < 0 {
		return nil, errors.New("the timeout must not be negative")
	}
	cmd := &command{Options: c, grace: 2 * time.Second}
	if err := cmd.place(); err != nil {
		return nil, err
	}
	if err := cmd.parse(); err != nil {
		return nil, err
	}
	for _, name := range append([]string{"PATH", "HOME", "LANG"}, c.Env...) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("%q is no name of an environment variable", name)
		}
		if value, ok := os.LookupEnv(name); ok {
			cmd.env = append(cmd.env, name+"="+value)
		}
	}
	before, err := cmd.planned()
	if err != nil {
		return nil, err
	}
	cmd.before = before
	return cmd, nil
}

func withDefaults(c Options) Options {
	if len(c.Parameters) == 0 {
		c.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	c.Output = cmp.Or(c.Output, OutputText)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.Risk = cmp.Or(c.Risk, tools.Ask)
	return c
}

// place makes the paths absolute, so that no later change of directory and no
// lookup gives them another meaning.
func (c *command) place() error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return errors.New("argv names no program")
	}
	if placeholder.MatchString(c.Argv[0]) {
		return errors.New("the program itself, the first element of argv, cannot be a parameter")
	}
	dir, err := filepath.Abs(c.Cwd)
	if err != nil {
		return fmt.Errorf("find working directory: %w", err)
	}
	c.Cwd, c.program = dir, c.Argv[0]
	if strings.ContainsRune(c.program, filepath.Separator) && !filepath.IsAbs(c.program) {
		c.program = filepath.Join(dir, c.program)
	}
	return nil
}

func (c *command) parse() error {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(c.Parameters, &schema); err != nil {
		return fmt.Errorf("read parameters: %w", err)
	}
	for i, text := range c.Argv[1:] {
		t, err := parseTemplate(text, schema.Properties)
		if err != nil {
			return fmt.Errorf("read argv[%d]: %w", i+1, err)
		}
		c.argv = append(c.argv, t)
	}
	stdin, err := parseTemplate(c.Stdin, schema.Properties)
	if err != nil {
		return fmt.Errorf("read stdin: %w", err)
	}
	c.stdin = stdin
	return nil
}

// run performs a call.
func (c *command) run(ctx context.Context, in tools.Input) (llm.Result, error) {
	values, err := readValues(in.Args)
	if err != nil {
		return llm.Result{}, fmt.Errorf("read arguments: %w", err)
	}
	argv, err := fill(c.argv, values)
	if err != nil {
		return tools.Failed("%s was not run: %v", c.Name, err), nil
	}
	stdin, _ := c.stdin.render(values)
	return c.execute(ctx, process{argv: argv, stdin: stdin, key: in.Key})
}
