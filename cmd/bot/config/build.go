package config

import (
	"fmt"
	"slices"
	"strings"
)

// Build is what a build of nod can do, in words: a key of the file
// ("tools.fetch"), or a key and one of its values ("llm.protocol: react").
// [Words] lists them all. What no word stands for, every build can do.
type Build []string

// values holds, for keys of which a build may know only some values, the
// values that there are.
var values = []struct {
	key    string
	values []string
}{
	{"store", []string{string(SQLite), string(Redis)}},
	{"llm.protocol", Protocol("").allowed()},
	{"llm.strategy", Strategy("").allowed()},
	{"tools.search.provider", Provider("").allowed()},
	{"tools.commands.output", Output("").allowed()},
}

// switches are the keys that a build can do or not.
var switches = []string{
	"slack", "discord", "http", "http.page", "traces", "llm.images", "llm.prices", "agent.examples", "memory.summary", "limits",
	"tools.calculator", "tools.clock", "tools.wikipedia", "tools.fetch", "tools.search", "tools.python",
	"tools.chart", "tools.image", "tools.commands", "tools.commands.stdin", "tools.commands.env",
	"tools.commands.cwd", "tools.mcp",
}

// Words lists everything that a Build may hold; a build with all of it is
// never refused.
func Words() []string {
	words := slices.Clone(switches)
	for _, v := range values {
		for _, one := range v.values {
			words = append(words, v.key+": "+one)
		}
	}
	return words
}

// NewBuild makes a Build. A word that is not in [Words] is a programmer's
// error, and panics.
func NewBuild(words ...string) Build {
	known := Words()
	for _, w := range words {
		if !slices.Contains(known, w) {
			panic(fmt.Sprintf("config: %q is not a word for what a build can do", w))
		}
	}
	return words
}

// can says whether the build can do what a word stands for.
func (b Build) can(word string) bool { return slices.Contains(b, word) }

// of lists the values of a key that the build knows.
func (b Build) of(key string) []string {
	var out []string
	for _, w := range b {
		if value, ok := strings.CutPrefix(w, key+": "); ok {
			out = append(out, value)
		}
	}
	return out
}

// use is something that a configuration wants of a build. word is what the
// build has to know, the key without the numbers of list items.
type use struct {
	key, value string
}

func (u use) word() string {
	word := strings.Map(func(r rune) rune {
		if r == '[' || r == ']' || '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, u.key)
	if u.value != "" {
		word += ": " + u.value
	}
	return word
}

// Unsupported lists what the configuration wants and the build can't do, so
// that the program refuses to start instead of leaving it out silently.
func (c *Config) Unsupported(b Build) []Mistake {
	var out []Mistake
	for _, u := range c.uses() {
		if b.can(u.word()) {
			continue
		}
		text := "this build can't do that yet; remove it"
		if u.value != "" {
			text = fmt.Sprintf("this build can't do %q yet", u.value)
			if others := b.of(use{key: u.key}.word()); len(others) > 0 {
				text += "; use " + choices(others)
			}
		}
		out = append(out, Mistake{c.file, lineOf(c.lines, u.key), u.key, text})
	}
	return sorted(out)
}

// uses lists what the configuration wants of a build.
func (c *Config) uses() []use {
	out := []use{
		{"store", string(c.Store.Kind)},
		{"llm.protocol", string(c.LLM.Protocol)},
		{"llm.strategy", string(c.LLM.Strategy)},
	}
	on := map[string]bool{
		"slack": c.Slack != nil, "discord": c.Discord != nil, "http": c.HTTP != nil,
		"http.page": c.HTTP != nil && c.HTTP.Page != "", "traces": c.Traces != nil,
		"llm.images": c.LLM.Images == ImagesYes, "llm.prices": c.LLM.Prices != nil,
		"agent.examples": len(c.Agent.Examples) > 0, "memory.summary": c.Memory.Summary,
		"limits":    c.Limits != Limits{},
		"tools.mcp": len(c.Tools.MCP) > 0, "tools.commands": len(c.Tools.Commands) > 0,
	}
	for _, t := range c.toolRules() {
		on[t.key] = true
	}
	if s := c.Tools.Search; s != nil {
		out = append(out, use{"tools.search.provider", string(s.Provider)})
	}
	for i, t := range c.Tools.Commands {
		key := item("tools.commands", i)
		delete(on, key) // tools.commands stands for all of them
		out = append(out, use{key + ".output", string(t.Output)})
		on[key+".stdin"] = t.Stdin != ""
		on[key+".env"] = len(t.Env) > 0
		on[key+".cwd"] = c.Written(key + ".cwd")
	}
	for key, wanted := range on {
		if wanted {
			out = append(out, use{key: key})
		}
	}
	return out
}

// Offline says that the file names no model to talk to, neither by a key nor by
// an address, so that `bot chat` uses the demo model.
func (c *Config) Offline() bool { return !c.LLM.APIKey.IsSet() && !c.Written("llm.base_url") }

// Incomplete lists what the service needs and the file does not have. Only
// `bot run` needs it, and `bot check` of a file for it.
func (c *Config) Incomplete() []Mistake {
	var out []Mistake
	missing := func(key, text string) {
		out = append(out, Mistake{c.file, lineOf(c.lines, key), key, text})
	}
	switch {
	case !c.Written("llm"):
		missing("llm", "is missing; write a section llm with api_key, or with base_url and model")
	case c.Offline():
		missing("llm.api_key", "is missing; write it, or base_url for an endpoint that needs no key")
	}
	if c.Slack == nil && c.Discord == nil {
		missing("slack", "is missing, and so is discord; write the section of at least one of them")
	}
	return sorted(out)
}
