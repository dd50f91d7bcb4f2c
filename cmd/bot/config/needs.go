package config

// Offline says that the file names no model to talk to, neither by a key nor by
// an address, so that `bot chat` uses the demo model.
func (c *Config) Offline() bool { return !c.LLM.APIKey.IsSet() && !c.Written("llm.base_url") }

// Incomplete lists missing keys that the service needs. Only `bot run` needs them, and
// `bot check` of a file for it.
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
