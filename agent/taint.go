package agent

import (
	"encoding/json"
	"strings"

	"nod/chat"
	"nod/memory"
)

// Content from outside may hold orders for the model, and a model may follow
// them. So while such content is in the prompt, a tool that can change
// something and would just run needs an approval, like a risky one; and so
// does a call to an address that the model made up, since an address can carry
// what was said here to somebody else.

// risk says what has to happen before the call runs, and why, when that is more
// than the configuration asks for.
func (d *decision) risk(tool Tool, c *call) (Risk, string) {
	harmless := tool.ReadOnly && (tool.Address == "" || d.given(c.address(tool)))
	if tool.Risk != Auto || harmless || !d.a.Taint {
		return tool.Risk, ""
	}
	if what := d.outside(); what != "" {
		return Ask, "this conversation holds content from outside (" + what + "), which may have asked for this"
	}
	return Auto, ""
}

// address is where a call goes; empty when it does not say.
func (c *call) address(tool Tool) string {
	var named map[string]any
	if json.Unmarshal([]byte(c.Args), &named) != nil {
		return ""
	}
	to, _ := named[tool.Address].(string)
	return to
}

// given says whether an address stands, whole, in what a person wrote or in a
// result of a tool.
func (d *decision) given(address string) bool {
	if address == "" {
		return false
	}
	for _, t := range d.s.shown(d.s.trim) {
		for _, m := range t.live() {
			if mentions(m.Text, address) {
				return true
			}
		}
		for _, st := range t.steps {
			for _, c := range st.calls {
				if c.result != nil && mentions(c.result.Text, address) {
					return true
				}
			}
		}
	}
	return false
}

// mentions says whether a text holds an address that does not go on behind it.
func mentions(text, address string) bool {
	for {
		i := strings.Index(text, address)
		if i < 0 {
			return false
		}
		text = text[i+len(address):]
		if text == "" || strings.ContainsAny(text[:1], " \t\n\r<>()[]{}\"'`,;|*") || strings.HasPrefix(text, ".") && (len(text) == 1 || text[1] == ' ' || text[1] == '\n') {
			return true
		}
	}
}

// outside names content from outside that the prompt holds; "" when it holds
// none.
func (d *decision) outside() string {
	if summed := d.s.summed(); summed != "" {
		return summed
	}
	if held := d.s.firstFile(d.s.trim.Files); held != "" {
		return "the file " + held
	}
	for _, t := range d.s.shown(d.s.trim) {
		for _, m := range t.live() {
			switch {
			case d.s.firstFile(m.Files) != "":
				return "the file " + d.s.firstFile(m.Files)
			case len(m.Quoted) > 0:
				return "older messages of other people"
			}
		}
		if tool := d.outsideResult(t, d.s.trim); tool != "" {
			return "a result of " + tool
		}
	}
	return ""
}

// firstFile names the first of some files that was not dropped.
func (s *state) firstFile(files []chat.File) string {
	for _, f := range files {
		if !s.isDropped(f) {
			return f.Name
		}
	}
	return ""
}

func (d *decision) outsideResult(t *turn, cut memory.Trimmed) string {
	stubbed := map[string]bool{}
	for _, id := range cut.Stubs {
		stubbed[id] = true
	}
	for _, st := range t.steps {
		for _, c := range st.calls {
			tool, _ := d.a.tool(c.Tool)
			if c.result != nil && tool.Outside && !stubbed[c.ID] {
				return c.Tool
			}
		}
	}
	return ""
}
