package config

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// checker finds what is wrong with values that are each of the right type.
type checker struct {
	*report
	c     *Config
	names map[string][]string // of the environment, by the key that uses them
}

// check reports everything about a decoded configuration that can't work.
func check(c *Config, d *decoder) {
	k := &checker{report: d.report, c: c, names: d.names}
	k.llm()
	k.platforms()
	k.memory()
	k.limits()
	k.approvals()
	k.asking()
	k.builtins()
	k.search()
	k.commands()
	k.servers()
}

// when reports a problem that some check found, if it found one.
func (k *checker) when(key, problem string) {
	if problem != "" {
		k.at(key, "%s", problem)
	}
}

// positive demands a length of time that ever ends.
func (k *checker) positive(key string, t time.Duration) {
	if t <= 0 {
		k.at(key, "must be more than 0; write a number and a unit, such as 30s")
	}
}

// between demands a whole number of a range.
func (k *checker) between(key string, n, low, high int) {
	if n < low || n > high {
		k.at(key, "must be from %d to %d", low, high)
	}
}

func (k *checker) llm() {
	l := k.c.LLM
	k.when("llm.base_url", urlProblem(l.BaseURL))
	k.token("llm.api_key", l.APIKey, "")
	if strings.TrimSpace(l.Model) == "" {
		k.at("llm.model", "must name a model, such as gpt-5-mini")
	}
	k.between("llm.max_steps", l.MaxSteps, 1, 1000)
	k.positive("llm.timeout", l.Timeout)
	k.between("llm.parallel", l.Parallel, 0, 10_000)
	if l.MaxOutput < 1<<10 || l.MaxOutput > 16<<20 {
		k.at("llm.max_output", "must be from 1KiB to 16MiB")
	}
	if t := l.Temperature; t != nil && (*t < 0 || *t > 2) {
		k.at("llm.temperature", "must be from 0 to 2; remove the line to leave it to the model")
	}
	if p := l.TopP; p != nil && (*p <= 0 || *p > 1) {
		k.at("llm.top_p", "must be more than 0 and at most 1; remove the line to leave it to the model")
	}
	if p := l.Prices; p != nil {
		for key, price := range map[string]float64{"input": p.Input, "cached": p.Cached, "output": p.Output} {
			if price < 0 {
				k.at("llm.prices."+key, "must not be negative")
			}
		}
		for _, key := range []string{"llm.prices.input", "llm.prices.output"} {
			k.required(key, k.written(key), "money per million tokens, such as 0.25")
		}
	}
	if _, err := time.LoadLocation(k.c.Agent.Timezone); err != nil {
		k.at("agent.timezone", "must be the name of a time zone, such as Europe/Berlin")
	}
	k.between("agent.retries", k.c.Agent.Retries, 0, 100)
	for i, e := range k.c.Agent.Examples {
		key := item("agent.examples", i)
		k.required(key+".user", e.User != "", "what the person says")
		k.required(key+".assistant", e.Assistant != "", "what the agent answers")
	}
}

// required demands that something is written.
func (k *checker) required(key string, there bool, what string) {
	if !there {
		k.at(key, "is missing; write %s", what)
	}
}

// written says whether the file has the key.
func (k *checker) written(key string) bool { _, ok := k.lines[key]; return ok }

var inToken = regexp.MustCompile(`^[\x21-\x7e]+$`)

// token demands of a secret, where there is one, that it can be sent and that
// it begins as its kind does.
func (k *checker) token(key string, s Secret, prefix string) {
	switch {
	case !s.IsSet():
	case !inToken.MatchString(s.Reveal()):
		k.at(key, "has spaces, line breaks or other characters that no such value has; copy it again")
	case !strings.HasPrefix(s.Reveal(), prefix):
		k.at(key, "must be the token that begins with %s", prefix)
	}
}

func (k *checker) platforms() {
	if s := k.c.Slack; s != nil {
		k.required("slack.app_token", s.AppToken.IsSet(), "the app-level token, which begins with xapp-")
		k.required("slack.bot_token", s.BotToken.IsSet(), "the bot token, which begins with xoxb-")
		k.token("slack.app_token", s.AppToken, "xapp-")
		k.token("slack.bot_token", s.BotToken, "xoxb-")
		k.when("slack.api_url", urlProblem(s.APIURL))
		k.between("slack.sockets", s.Sockets, 1, 10)
		for method, n := range s.Limits {
			key := "slack.limits." + method
			if !slices.Contains(SlackMethods, method) {
				k.at(key, "is no method with a limit that nod calls; write one of %s", choices(SlackMethods))
			}
			k.between(key, n, 1, 100_000)
		}
		k.allow("slack.allow", s.Allow, "user", "group", "channel")
		k.ids("slack.allow_bots", s.AllowBots)
	}
	if s := k.c.Discord; s != nil {
		k.required("discord.token", s.Token.IsSet(), "the bot's token")
		k.token("discord.token", s.Token, "")
		k.when("discord.api_url", urlProblem(s.APIURL))
		k.ids("discord.allow_bots", s.AllowBots)
		k.ids("discord.guilds", s.Guilds)
		k.allow("discord.allow", s.Allow, "user", "role", "channel")
		for name, n := range s.Limits {
			if name != "global" {
				k.at("discord.limits."+name, "is no limit that can be set; write global")
			}
			k.between("discord.limits."+name, n, 1, 10_000)
		}
	}
	if h := k.c.HTTP; h != nil {
		k.when("http.listen", listenProblem(h.Listen))
		k.when("http.page", loopbackProblem(h.Page))
	}
	if t := k.c.Traces; t != nil {
		k.when("traces.otlp", urlProblem(t.OTLP))
		k.headers("traces.headers", t.Headers)
	}
}

// SlackMethods are those whose limits matter.
var SlackMethods = []string{
	"agents.sessions.setStatus", "assistant.threads.setStatus", "chat.delete", "chat.postEphemeral", "chat.postMessage", "chat.update",
	"conversations.history", "conversations.info", "conversations.open", "conversations.replies", "files.completeUploadExternal",
	"files.getUploadURLExternal", "reactions.add", "reactions.get", "usergroups.users.list", "users.conversations", "users.info",
	"views.open", "views.publish", "views.update",
}

var id = regexp.MustCompile(`^[A-Za-z0-9]{1,64}$`)

func (k *checker) ids(key string, ids []string) {
	for i, one := range ids {
		if !id.MatchString(one) {
			k.at(item(key, i), "must be an id, such as B012ABCDEF or 123456789012345678, not a name")
		}
	}
}

// allow demands rules of who is heard: everyone, or an id of one of the kinds.
func (k *checker) allow(key string, rules []string, kinds ...string) {
	words := []string{"everyone"}
	for _, kind := range kinds {
		words = append(words, kind+":ID")
	}
	if len(rules) == 0 {
		k.at(key, "would let nobody be heard; write %s", choices(words))
	}
	for i, rule := range rules {
		kind, of, _ := strings.Cut(rule, ":")
		if rule != "everyone" && (!slices.Contains(kinds, kind) || !id.MatchString(of)) {
			k.at(item(key, i), "must be %s, with the id and not a name", choices(words))
		}
	}
}

func (k *checker) memory() {
	if k.c.Memory.BudgetTokens < 100 {
		k.at("memory.budget_tokens", "must be at least 100, as less holds no conversation")
	}
}

func (k *checker) limits() {
	l := k.c.Limits
	for key, a := range map[string]Amount{
		"per_person_per_day": l.PerPersonPerDay, "per_thread_per_day": l.PerThreadPerDay, "per_day": l.PerDay,
	} {
		if a.Money > 0 && k.c.LLM.Prices == nil {
			k.at("limits."+key, "is money, which needs llm.prices; write those, or a number of tokens here")
		}
	}
}

var language = regexp.MustCompile(`^[a-z]{2,12}(-[a-z]{2,12})*$`)

func (k *checker) builtins() {
	t := k.c.Tools
	if w := t.Wikipedia; w != nil {
		if !language.MatchString(w.Language) {
			k.at("tools.wikipedia.language", "must be the language in Wikipedia's address, such as en or zh-yue")
		}
		if w.APIURL != "" {
			k.when("tools.wikipedia.api_url", urlProblem(w.APIURL))
		}
	}
	if f := t.Fetch; f != nil {
		for key, patterns := range map[string][]string{"tools.fetch.allow": f.Allow, "tools.fetch.deny": f.Deny} {
			for i, p := range patterns {
				k.when(item(key, i), hostPatternProblem(p))
			}
		}
	}
	if p := t.Python; p != nil {
		k.positive("tools.python.timeout", p.Timeout)
		if p.Memory < 32<<20 {
			k.at("tools.python.memory", "must be at least 32MiB, as Python does not start in less")
		}
	}
	if i := t.Image; i != nil && strings.TrimSpace(i.Model) == "" {
		k.at("tools.image.model", "must name a model, such as gpt-image-1")
	}
}

func (k *checker) search() {
	s := k.c.Tools.Search
	if s == nil {
		return
	}
	if s.APIURL != "" {
		k.when("tools.search.api_url", urlProblem(s.APIURL))
	} else if s.Provider == ProviderSearxng {
		k.at("tools.search.api_url", "is missing; write the address of your searxng, or another provider")
	}
	k.token("tools.search.api_key", s.APIKey, "")
	if s.Provider != ProviderSearxng {
		k.required("tools.search.api_key", s.APIKey.IsSet(), "the key that the provider gave you")
	}
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// name demands a tool's name that models accept, and that is not taken.
func (k *checker) name(key, name string, taken []string) {
	switch {
	case name == "":
		k.at(key, "is missing; write a name such as restart_service")
	case !toolName.MatchString(name):
		k.at(key, "must be 1 to 64 letters, digits, _ or -, such as restart_service")
	case slices.Contains(taken, name):
		k.at(key, "is taken by another tool; write another name")
	}
}
