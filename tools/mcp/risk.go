package mcp

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"nod/tools"
)

// strictness orders the risks.
var strictness = map[tools.Risk]int{tools.Auto: 1, tools.Ask: 2, tools.Never: 3}

func (c Server) checkPatterns() error {
	var errs []error
	for _, p := range slices.Concat(c.Tools, c.ReadOnly, c.Shown) {
		errs = append(errs, patternError(p))
	}
	for p := range c.Sends {
		errs = append(errs, patternError(p))
	}
	for p, risk := range c.Risk {
		errs = append(errs, patternError(p))
		if strictness[risk] == 0 {
			errs = append(errs, fmt.Errorf("the risk is auto, ask or never, not %q", risk))
		}
	}
	return errors.Join(errs...)
}

func patternError(pattern string) error {
	if _, err := path.Match(pattern, "name"); err != nil {
		return fmt.Errorf("read pattern %q: %w", pattern, err)
	}
	return nil
}

// matches says whether a pattern is for a tool. A slash in the tool's name must
// not take it out of the reach of "*", so it is no separator.
func matches(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}

// wanted are the tools that the configuration wants of those that there are.
func (c Server) wanted(list []Definition) []Definition {
	if len(c.Tools) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(d Definition) bool {
		return !slices.ContainsFunc(c.Tools, func(p string) bool { return matches(p, d.Name) })
	})
}

// idle names the patterns that fit none of the tools that there are: somebody who
// wrote one took it for a rule.
func (c Server) idle(list []Definition) []string {
	var out []string
	look := func(key string, patterns []string) {
		for _, p := range patterns {
			if !slices.ContainsFunc(list, func(d Definition) bool { return matches(p, d.Name) }) {
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
		if matches(pattern, d.Name) && strictness[r] > strictness[risk] {
			risk = r
		}
	}
	if risk == "" {
		risk = tools.Ask
	}
	for _, pattern := range c.ReadOnly {
		readOnly = readOnly || matches(pattern, d.Name)
	}
	if h := d.Hints; h == nil || h.ReadOnly || h.Destructive == nil || !*h.Destructive {
		return risk, readOnly, ""
	}
	if risk == tools.Auto {
		risk, raised = tools.Ask, "it says itself that it can destroy something"
	}
	return risk, false, raised
}
