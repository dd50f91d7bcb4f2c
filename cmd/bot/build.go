package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"nod/cmd/bot/config"
)

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
