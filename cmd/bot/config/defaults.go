package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// defaults is the configuration of an empty file.
func defaults() *Config {
	c := &Config{lines: map[string]int{}}
	fill(reflect.ValueOf(c).Elem(), Approvals{})
	return c
}

// Default is the configuration of `bot chat` without a file: the demo model,
// the calculator and the clock, and a store in the user's state directory.
// getenv nil is os.LookupEnv. Without any home the store is in the current
// directory.
func Default(getenv func(string) (string, bool)) *Config {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	c := defaults()
	c.Store = sqliteAt(filepath.Join(stateDir(getenv), "nod.db"))
	c.Audit.Key = filepath.Join(stateDir(getenv), "nod.key")
	c.Approvals.FactorKey = filepath.Join(stateDir(getenv), "nod.factor")
	c.SwitchOn("calculator")
	c.SwitchOn("clock")
	return c
}

// SwitchOn switches a built-in tool on with its defaults, as its key alone does in a file.
func (c *Config) SwitchOn(key string) {
	for _, f := range c.table() {
		if f.key == key {
			f.part.Set(reflect.New(f.part.Type().Elem()))
			fill(f.part.Elem(), c.Approvals)
		}
	}
}

// stateDir is nod's folder for state, by the XDG base directory specification:
// $XDG_STATE_HOME when it is absolute, else ~/.local/state.
func stateDir(getenv func(string) (string, bool)) string {
	if dir, _ := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "nod")
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "nod")
	}
	return "."
}

func sqliteAt(path string) Store { return Store{Kind: SQLite, Path: path, show: "sqlite:" + path} }

// resolve finishes a configuration that is right: paths become absolute by the
// file's folder, addresses get the form that their users want, and emoji their
// normal one.
func (c *Config) resolve(dir string) {
	if c.Store.Kind == SQLite && !filepath.IsAbs(c.Store.Path) {
		c.Store = sqliteAt(filepath.Join(dir, c.Store.Path))
	}
	c.Audit.Key = absolute(dir, c.Audit.Key)
	for _, r := range c.rules() {
		r.part.FactorKey = absolute(dir, r.part.FactorKey)
		r.part.Approve, r.part.Deny = distinct(normal(r.part.Approve)), distinct(normal(r.part.Deny))
	}
	for _, e := range c.Endpoints() {
		e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	}
	if c.Slack != nil {
		c.Slack.APIURL = strings.TrimRight(c.Slack.APIURL, "/") + "/"
	}
	if c.Discord != nil {
		c.Discord.APIURL = strings.TrimRight(c.Discord.APIURL, "/")
	}
	in := func(path string) string { return absolute(dir, path) }
	if c.Skills != "" {
		c.Skills = in(c.Skills)
	}
	for i, r := range c.Rooms {
		if r.InstructionsFile != "" {
			c.Rooms[i].InstructionsFile = in(r.InstructionsFile)
		}
	}
	for i := range c.Tools.Commands {
		c.Tools.Commands[i].Place(in)
	}
	for i := range c.Tools.MCP {
		c.Tools.MCP[i].Place(in)
	}
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
