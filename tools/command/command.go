// Package command makes tools of a team's own programs. The one idea: each
// argument of the model's is one argument of the program, whole, and no shell ever
// sees it.
package command

import (
	"context"
	"encoding/json"
	"fmt"
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

// New makes a tool of a program, with keys that cmd/bot/config has checked and placed. It
// reads the environment here, once.
func New(c Keys) tools.Tool {
	cmd := newCommand(c)
	tool := tools.Tool{
		Tool:     llm.Tool{Name: c.Name, HumanName: c.NameForHuman, Description: c.Description, Parameters: c.Parameters},
		ReadOnly: c.ReadOnly,
		Outside:  c.Outside,
		Sends:    c.Sends,
		Timeout:  c.Timeout,

		Definition: c.definition(),
		Run:        cmd.run,
	}
	if len(c.Preview) > 0 {
		tool.Preview, tool.PreviewRequired = cmd.preview, c.PreviewRequired
	}
	return tool
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
	dash  map[string]bool // parameters whose schemas say which values with a leading - there are
	env   []string        // NAME=value
	grace time.Duration   // from SIGTERM to SIGKILL, and for output that stays open
}

func newCommand(c Keys) *command {
	cmd := &command{Keys: c, dash: map[string]bool{}, grace: 2 * time.Second, env: tools.Environ(c.Env...)}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(c.Parameters, &schema) // one in another form allows no leading dash
	for name, property := range schema.Properties {
		cmd.dash[name] = saysValues(property)
	}
	return cmd
}

// run performs a call.
func (c *command) run(ctx context.Context, in tools.Input) (llm.Result, error) {
	values, err := readValues(in.Args)
	if err != nil {
		return llm.Result{}, fmt.Errorf("read arguments: %w", err)
	}
	argv, err := c.fill(values)
	if err != nil {
		return tools.Failed("%s was not run: %v", c.Name, err), nil
	}
	return c.execute(ctx, process{argv: argv, stdin: render(c.Stdin, values), key: in.Key})
}
