package config

import (
	"slices"
	"strings"
)

// checker finds mistakes in values of the right type.
type checker struct {
	*report
	c      *Config
	names  map[string][]string // of the environment, by the key that uses them
	secret []string            // of those, whose value is a secret of the bot's own
}

// check reports everything about a decoded configuration that can't work, although each
// of its values by itself could.
func check(c *Config, d *decoder) {
	k := &checker{d.report, c, d.names, d.secret}
	k.platforms()
	k.models()
	k.rooms()
	k.limits()
	k.approvals()
	for key, list := range c.askers() {
		k.possible(key, list)
	}
	k.commands()
	k.servers()
	k.proxy()
	k.alerts()
}

// when reports a problem that some check found, if it found one.
func (k *checker) when(key, problem string) {
	if problem != "" {
		k.at(key, "%s", problem)
	}
}

// between demands a whole number of a range.
func (k *checker) between(key string, n, low, high int) {
	if n < low || n > high {
		k.at(key, "must be from %d to %d", low, high)
	}
}

// written says whether the file has the key.
func (k *checker) written(key string) bool { return k.c.Written(key) }

func (k *checker) platforms() {
	if s := k.c.Slack; s != nil {
		k.on("slack.allow", s.Allow, true, false)
		for method, n := range s.Limits {
			key := "slack.limits." + method
			if !slices.Contains(SlackMethods, method) {
				k.at(key, "is no method with a limit that nod calls; write one of %s", choices(SlackMethods))
			}
			k.between(key, n, 1, 100_000)
		}
	}
	if s := k.c.Discord; s != nil {
		k.on("discord.allow", s.Allow, false, true)
		for name, n := range s.Limits {
			if name != "global" {
				k.at("discord.limits."+name, "is no limit that can be set; write global")
			}
			k.between("discord.limits."+name, n, 1, 10_000)
		}
	}
	if t := k.c.Traces; t != nil {
		k.headers("traces.headers", t.Headers)
		if strings.HasSuffix(strings.TrimRight(t.OTLP, "/"), "/v1/traces") {
			k.at("traces.otlp", "ends in /v1/traces, which is added; remove that")
		}
	}
}

// proxy demands that fetch names its hosts where nod can't see where they lead.
func (k *checker) proxy() {
	const why = "must name hosts, such as example.com or *.example.com, since a proxy resolves names itself"
	f := k.c.Tools.Fetch
	if !k.c.Proxy.IsSet() || f == nil {
		return
	}
	if len(f.Keys.Allow) == 0 {
		k.at("tools.fetch.allow", why)
	}
	for i, pattern := range f.Keys.Allow {
		if !namesHosts.MatchString(pattern) {
			k.at(item("tools.fetch.allow", i), why)
		}
	}
}

// SlackMethods are those whose limits matter.
var SlackMethods = []string{
	"agents.sessions.setStatus", "assistant.search.context", "assistant.threads.setStatus", "chat.delete", "chat.postEphemeral", "chat.postMessage", "chat.update",
	"conversations.history", "conversations.info", "conversations.open", "conversations.replies", "files.completeUploadExternal",
	"files.getUploadURLExternal", "reactions.add", "reactions.get", "usergroups.users.list", "users.conversations", "users.info",
	"views.open", "views.publish", "views.update",
}

func (k *checker) limits() {
	l := k.c.Limits
	for key, a := range map[string]Amount{
		"per_person_per_day": l.PerPersonPerDay, "per_thread_per_day": l.PerThreadPerDay, "per_day": l.PerDay,
	} {
		if a.Money > 0 && k.c.LLM.Prices == nil {
			k.at("limits."+key, "is money, which needs llm.prices; write those, or a number of tokens here")
		}
		for name, m := range k.c.Models {
			if a.Money > 0 && k.c.LLM.Prices != nil && m.Prices == nil {
				k.at("models."+name+".prices", "is missing, and limits.%s is money; write it", key)
			}
		}
	}
	for i, r := range l.Raise {
		at := item("limits.raise", i)
		k.possible(at+".for", r.For)
		k.raise(at, "per_person_per_day", r.PerPersonPerDay, l.PerPersonPerDay)
		k.raise(at, "per_thread_per_day", r.PerThreadPerDay, l.PerThreadPerDay)
		if r.PerPersonPerDay.IsZero() && r.PerThreadPerDay.IsZero() {
			k.at(at, "raises nothing; write per_person_per_day or per_thread_per_day")
		}
	}
}

// raise demands that a larger limit is one.
func (k *checker) raise(at, key string, more, limit Amount) {
	switch {
	case more.IsZero() || k.doubtful("limits."+key):
	case limit.IsZero():
		k.at(at+"."+key, "raises a limit that is not there; write limits.%s, or remove the line", key)
	case (more.Money > 0) != (limit.Money > 0):
		k.at(at+"."+key, "must be tokens where limits.%s is tokens, and money where that is money", key)
	case more.Tokens <= limit.Tokens && more.Money <= limit.Money:
		k.at(at+"."+key, "is not more than limits.%s; write a larger one, or remove the line", key)
	}
}
