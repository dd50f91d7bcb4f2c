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
	"path/filepath"
	"strings"
	"time"

	"nod/llm"
	"nod/tools"
)

// Output is the kind of a command's standard output.
type Output string

// The kinds of a command's standard output.
const (
	OutputText Output = "text"
	OutputJSON Output = "json"
	OutputFile Output = "file"
)

// Allowed lists those that the file may name.
func (Output) Allowed() []string {
	return []string{string(OutputText), string(OutputJSON), string(OutputFile)}
}

// Keys is a program that a team offers as a tool: the keys of an item of
// tools.commands. command.md explains how an argument stays one argument.
type Keys struct {
	Name         string          `yaml:"name" schema:"tool" missing:"a name such as restart_service" doc:"What the model calls it"`
	NameForHuman string          `yaml:"name_for_human" doc:"What the text protocols show"`
	Description  string          `yaml:"description" doc:"What it does, for the model"`
	Parameters   json.RawMessage `yaml:"parameters" default:"{type: object, properties: {}, additionalProperties: false}" doc:"JSON Schema of the arguments; arguments that don't fit never reach an approval or the command. Absent: it takes none"`
	Argv         []string        `yaml:"argv" schema:"some" missing:"a program and its arguments, such as [\"./restart.sh\", \"{service}\"]" doc:"The program and its arguments; each {name} is one argument, whole"`
	Stdin        string          `yaml:"stdin" doc:"What it reads; a template too"`
	Env          []string        `yaml:"env" schema:"variable" doc:"Names passed on from the bot's environment"`
	Cwd          string          `yaml:"cwd" default:"." doc:"The folder that it runs in. Default: the file's"`
	Output       Output          `yaml:"output" default:"text" doc:"What it writes. Default text"`
	Timeout      time.Duration   `yaml:"timeout" schema:"positive" default:"30s" doc:"Default 30s"`
	ReadOnly     bool            `yaml:"read_only" doc:"It changes nothing, so it may run again after a crash. Default false"`
	Outside      bool            `yaml:"outside" doc:"What it prints was written by strangers, such as a ticket or a mail. Default false"`
	Sends        []string        `yaml:"sends" doc:"Parameters whose value goes to a place outside (a URL, an address, a recipient). Default none"`
	Preview      []string        `yaml:"preview" doc:"A program that says what a call would do, and changes nothing; it takes the same {name}. It runs before people are asked and once more right before the call; what it writes is shown with the approval and bound to it. Absent: none"`
	// PreviewRequired says that nobody may approve a call whose preview failed.
	PreviewRequired bool `yaml:"preview_required" default:"true" doc:"false: a call may be approved although its preview failed. Default true"`

	spelt string // the definition as the file spells it; "": as it is
}

// Place makes the paths absolute. An approval stays bound to what the file says, so that it
// holds where the same file lies in another folder.
func (c *Keys) Place(absolute func(path string) string) {
	c.spelt = c.definition()
	c.Cwd = absolute(c.Cwd)
	tools.Place(c.Argv, absolute)
	tools.Place(c.Preview, absolute)
}

// New makes a tool of a program. It refuses a placeholder without a parameter, and one for
// the program itself. It reads the environment here, once.
func New(c Keys) (tools.Tool, error) {
	cmd, err := newCommand(c)
	if err != nil {
		return tools.Tool{}, fmt.Errorf("set up command %q: %w", c.Name, err)
	}
	c = cmd.Keys
	tool := tools.Tool{
		Tool:     llm.Tool{Name: c.Name, HumanName: c.NameForHuman, Description: c.Description, Parameters: c.Parameters},
		ReadOnly: c.ReadOnly,
		Outside:  c.Outside,
		Sends:    c.Sends,
		Timeout:  c.Timeout,

		Definition: c.definition(),
		Run:        cmd.run,
	}
	if cmd.before != nil {
		tool.Preview, tool.PreviewRequired = cmd.preview, c.PreviewRequired
	}
	return tool, nil
}

// definition is the program: an approval of a call binds it.
func (c Keys) definition() string {
	if c.spelt != "" {
		return c.spelt
	}
	parts := []any{c.Argv, c.Stdin, c.Cwd, c.Env}
	if len(c.Preview) > 0 {
		parts = append(parts, c.Preview, c.PreviewRequired)
	}
	raw, _ := json.Marshal(parts) // strings alone can't fail
	return string(raw)
}

// command is Keys that are ready to run.
type command struct {
	Keys
	program string     // absolute, or a name to be found in PATH
	argv    []template // behind the program
	stdin   template
	before  *command      // the preview; nil without one
	env     []string      // NAME=value
	grace   time.Duration // from SIGTERM to SIGKILL, and for output that stays open
}

func newCommand(c Keys) (*command, error) {
	c = withDefaults(c)
	cmd := &command{Keys: c, grace: 2 * time.Second, env: tools.Environ(c.Env...)}
	if err := cmd.place(); err != nil {
		return nil, err
	}
	if err := cmd.parse(); err != nil {
		return nil, err
	}
	var err error
	cmd.before, err = cmd.planned()
	return cmd, err
}

func withDefaults(c Keys) Keys {
	if len(c.Parameters) == 0 {
		c.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	c.Output = cmp.Or(c.Output, OutputText)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	return c
}

// place makes the paths absolute, so that no later change of directory and no
// lookup gives them another meaning.
func (c *command) place() error {
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
