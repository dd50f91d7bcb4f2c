package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"nod/cmd/bot/config"
)

// thisBuild is what this build can do. A new platform, tool, protocol or
// strategy is switched on by a word here.
var thisBuild = config.NewBuild(append(servers,
	"slack", "discord",
	"store: sqlite",
	"llm.protocol: tools", "llm.protocol: react", "llm.protocol: numbered", "llm.strategy: react", "llm.strategy: plan", "llm.strategy: reflexion", "llm.strategy: branch",
	"llm.prices", "limits", "memory.summary",
	"llm.images", "agent.examples", "http", "http.page", "traces",
	"tools.calculator", "tools.clock", "tools.fetch", "tools.wikipedia",
	"tools.search", "tools.search.provider: searxng", "tools.search.provider: brave", "tools.search.provider: tavily",
	"tools.chart", "tools.image", "tools.python",
	"tools.commands", "tools.commands.output: text", "tools.commands.output: json", "tools.commands.output: file",
	"tools.commands.stdin", "tools.commands.env", "tools.commands.cwd", "tools.mcp",
)...)

// version and commit are set by the linker in releases, which are built without
// looking at the repository, so that they come out the same wherever that is done.
var version, commit = "dev", ""

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(env Env) error {
	_, err := fmt.Fprintf(env.Out, "nod %s, commit %s, %s\n", version, revision(), runtime.Version())
	return err
}

// revision is the commit that this was built from.
func revision() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

type configCommand struct {
	Schema schemaCommand `cmd:"" help:"Print the JSON Schema of the file, for editors."`
}

type schemaCommand struct{}

// Run prints the schema.
func (schemaCommand) Run(env Env) error {
	schema, err := config.Schema()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s\n", schema)
	return err
}
