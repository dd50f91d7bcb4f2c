package mcp

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"nod/tools"
)

// strictness orders the risks.
var strictness = map[tools.Risk]int{tools.Auto: 1, tools.Ask: 2, tools.Never: 3}

// matches says whether one of some patterns is for a tool. A slash in the tool's name
// must not take it out of the reach of "*", so it is no separator.
func matches(name string, patterns ...string) bool {
	flat := strings.NewReplacer("/", "\x00")
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(flat.Replace(p), flat.Replace(name))
		return ok && err == nil
	})
}

// wanted are the tools that the configuration wants of those that there are.
func (c Server) wanted(list []Definition) []Definition {
	if len(c.Tools) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(d Definition) bool { return !matches(d.Name, c.Tools...) })
}

// idle names the patterns that fit none of the tools that there are: somebody who
// wrote one took it for a rule.
func (c Server) idle(list []Definition) []string {
	var out []string
	look := func(key string, patterns []string) {
		for _, p := range patterns {
			if !slices.ContainsFunc(list, func(d Definition) bool { return matches(d.Name, p) }) {
				out = append(out, key+": "+p)
			}
		}
	}
	look("tools", c.Tools)
	look("read_only", c.ReadOnly)
	look("shown", c.Shown)
	look("sends", slices.Sorted(maps.Keys(c.Sends)))
	look("risk", slices.Sorted(maps.Keys(c.Risk)))
	return out
}

// judge gives a tool's risk, and whether it changes nothing: by the configuration, and
// then by the tool's own hints against itself. Only a tool that says that it destroys
// counts as destructive. In the protocol a missing hint means the same; but most
// servers leave it out, and a configuration that counts for nothing teaches people to
// approve.
func (c Server) judge(d Definition) (risk tools.Risk, readOnly bool, raised string) {
	for pattern, r := range c.Risk {
		if matches(d.Name, pattern) && strictness[r] > strictness[risk] {
			risk = r
		}
	}
	risk, readOnly = cmp.Or(risk, tools.Ask), matches(d.Name, c.ReadOnly...)
	if h := d.Hints; h == nil || h.ReadOnly || h.Destructive == nil || !*h.Destructive {
		return risk, readOnly, ""
	}
	if risk == tools.Auto {
		risk, raised = tools.Ask, "it says itself that it can destroy something"
	}
	return risk, false, raised
}
