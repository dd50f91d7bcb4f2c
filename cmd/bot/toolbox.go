package main

import (
	"errors"
	"time"

	"nod/cmd/bot/config"
	"nod/tools"
)

// toolbox makes the tools that the file switches on.
func toolbox(cfg *config.Config) (*tools.Box, error) {
	var list []tools.Tool
	var errs []error
	add := func(t tools.Tool, err error) { list, errs = append(list, t), append(errs, err) }
	if cfg.Tools.Calculator != nil {
		list = append(list, tools.NewCalculator())
	}
	if cfg.Tools.Clock != nil {
		list = append(list, tools.NewClock(time.Now))
	}
	if f := cfg.Tools.Fetch; f != nil {
		add(tools.NewFetch(tools.Fetch{Allow: f.Allow, Deny: f.Deny}))
	}
	if w := cfg.Tools.Wikipedia; w != nil {
		both, err := tools.NewWikipedia(tools.Wikipedia{Language: w.Language, APIURL: w.APIURL})
		list, errs = append(list, both...), append(errs, err)
	}
	if s := cfg.Tools.Search; s != nil {
		add(tools.NewSearch(tools.Search{Provider: string(s.Provider), APIURL: s.APIURL, APIKey: s.APIKey.Reveal()}))
	}
	for _, c := range cfg.Tools.Commands {
		add(tools.NewCommand(tools.Command{
			Name: c.Name, HumanName: c.NameForHuman, Description: c.Description, Parameters: c.Parameters,
			Argv: c.Argv, Stdin: c.Stdin, Env: c.Env, Cwd: c.Cwd, Output: string(c.Output),
			Timeout: c.Timeout, ReadOnly: c.ReadOnly, Risk: string(c.Risk),
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return tools.NewBox(list...)
}

// toolRules gives the risk and the approval rules of every tool by its name.
func toolRules(cfg *config.Config) map[string]config.ToolRules {
	rules := map[string]config.ToolRules{}
	if t := cfg.Tools.Calculator; t != nil {
		rules["calculator"] = t.ToolRules
	}
	if t := cfg.Tools.Clock; t != nil {
		rules["clock"] = t.ToolRules
	}
	if t := cfg.Tools.Fetch; t != nil {
		rules["fetch"] = t.ToolRules
	}
	if t := cfg.Tools.Wikipedia; t != nil {
		rules["wikipedia_search"], rules["wikipedia_lookup"] = t.ToolRules, t.ToolRules
	}
	if t := cfg.Tools.Search; t != nil {
		rules["search"] = t.ToolRules
	}
	for _, c := range cfg.Tools.Commands {
		rules[c.Name] = c.ToolRules
	}
	return rules
}

// outside are the tools whose results strangers wrote.
var outside = map[string]bool{"fetch": true, "search": true, "wikipedia_search": true, "wikipedia_lookup": true}

// addresses are the parameters that name a place to which a call goes.
var addresses = map[string]string{"fetch": "url"}
