package mcp

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"nod/tools"
)

// strictness orders the risks.
var strictness = map[string]int{tools.Auto: 1, tools.Ask: 2, tools.Never: 3}

func (c Server) checkPatterns() error {
	var errs []error
	for _, p := range c.ReadOnly {
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

// judge says what has to happen before a tool runs, and whether it changes
// nothing: what the configuration says, and then what the tool says against
// itself.
func (c Server) judge(d Definition) (risk string, readOnly bool, raised string) {
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
	claim := d.destroys()
	if claim == claimed {
		readOnly = false
	}
	if risk == tools.Auto && (claim == claimed || claim == implied && !readOnly) {
		risk, raised = tools.Ask, "it says itself that it can destroy something"
	}
	return risk, readOnly, raised
}

// claim is what a tool says about how it changes things.
type claim int

const (
	silent  claim = iota
	implied       // it speaks of itself, but does not deny that it destroys
	claimed
)

// destroys reads the hints. The protocol's default for a tool that is not read
// only is that it destroys, so a tool that describes itself and leaves that out
// has said it. One that does not describe itself at all claims nothing, and the
// configuration alone counts.
func (d Definition) destroys() claim {
	switch h := d.Hints; {
	case h == nil || h.ReadOnly:
		return silent
	case h.Destructive == nil:
		return implied
	case *h.Destructive:
		return claimed
	}
	return silent
}
