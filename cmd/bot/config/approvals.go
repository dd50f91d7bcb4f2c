package config

import (
	"cmp"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
	"nod/tools"
)

// keyed is a part of the configuration and where the file has it.
type keyed[T any] struct {
	key  string
	part T
}

// rules lists the section's rules and those of every tool that is on.
func (c *Config) rules() []keyed[*Approvals] {
	out := []keyed[*Approvals]{{"approvals", &c.Approvals}}
	for _, t := range c.toolRules() {
		out = append(out, keyed[*Approvals]{t.key + ".approvals", &t.part.Approvals})
	}
	return out
}

// Askers lists every rule of who may ask for a tool.
func (c *Config) Askers() []string { return slices.Concat(slices.Collect(maps.Values(c.askers()))...) }

// askers are those rules, and where the file has them.
func (c *Config) askers() map[string][]string {
	out := map[string][]string{}
	for _, t := range c.toolRules() {
		out[t.key+".for"] = t.part.For
	}
	for i, s := range c.Tools.MCP {
		out[item("tools.mcp", i)+".for"] = s.For
	}
	for name, m := range c.Models {
		out["models."+name+".for"] = m.For
	}
	return out
}

// Approvers lists every rule of who may approve, of the section and of tools.
func (c *Config) Approvers() []string {
	var all []string
	for _, r := range c.rules() {
		all = append(all, r.part.Approvers...)
		all = append(all, r.part.Escalate.Approvers...)
	}
	for _, r := range c.Rooms {
		all = append(all, r.Approvals.Approvers...)
	}
	for _, a := range c.Alerts {
		all = append(all, a.Approvers...)
	}
	return all
}

// Builtin is a tool of the table that the file switches on.
type Builtin struct {
	Name  string
	Keys  tools.Keys
	Rules *ToolRules
}

// Builtins lists them.
func (c *Config) Builtins() (on []Builtin) {
	for _, t := range c.table() {
		if t.part.IsNil() {
			continue
		}
		keys, _ := t.part.Elem().FieldByName("Keys").Interface().(tools.Keys)
		rules, _ := t.part.Elem().FieldByName("ToolRules").Addr().Interface().(*ToolRules)
		on = append(on, Builtin{t.key, keys, rules})
	}
	return on
}

// table lists the built-in tools: those fields of Tools that point to a section.
func (c *Config) table() (all []keyed[reflect.Value]) {
	for f, v := range reflect.ValueOf(&c.Tools).Elem().Fields() {
		if v.Kind() == reflect.Pointer {
			all = append(all, keyed[reflect.Value]{f.Tag.Get("yaml"), v})
		}
	}
	return all
}

// toolRules lists the common rules of the tools that are on.
func (c *Config) toolRules() (out []keyed[*ToolRules]) {
	for _, t := range c.Builtins() {
		out = append(out, keyed[*ToolRules]{"tools." + t.Name, t.Rules})
	}
	for i := range c.Tools.Commands {
		out = append(out, keyed[*ToolRules]{item("tools.commands", i), &c.Tools.Commands[i].ToolRules})
	}
	return out
}

// approvals checks the section, and the tools' overrides. A tool inherits the other
// values, and their mistakes are reported at the section.
func (k *checker) approvals() {
	for _, r := range k.c.rules() {
		own := func(key string) bool { return r.key == "approvals" || k.written(r.key+key) }
		if !own("") {
			continue
		}
		if own(".approvers") {
			k.possible(r.key+".approvers", r.part.Approvers)
		}
		if own(".notify") {
			k.notify(r.key+".notify", r.part.Notify)
		}
		if own(".remind") || own(".timeout") {
			k.remind(r.key+".remind", *r.part)
		}
		if own(".escalate") || own(".timeout") {
			k.escalate(r.key+".escalate", *r.part)
		}
		if own(".approve") || own(".deny") {
			k.emoji(r.key, *r.part)
		}
		if own(".by") || own(".buttons") || own(".factor") {
			k.ways(r.key, *r.part)
		}
		if r.key != "approvals" && k.written(r.key+".factor_key") {
			k.at(r.key+".factor_key", "is one file for all tools; write it in the section approvals")
		}
		if own(".approvers") || own(".quorum") || own(".exclude_requester") || own(".escalate") {
			k.satisfiable(r.key, *r.part)
		}
	}
}

// ways refuses calls that nobody could approve.
func (k *checker) ways(key string, a Approvals) {
	switch {
	case k.c.Approvals.Buttons:
	case a.Factor == FactorCode:
		k.at(key+".factor", "asks for the code behind Approve, and buttons: false takes that away; write buttons: true, or none")
	case len(a.By) > 0 && !slices.ContainsFunc(a.By, func(w Way) bool { return w != Way(chat.ByButton) }):
		k.at(key+".by", "lets only the button approve, and buttons: false takes it away; write buttons: true, or name another way")
	}
}

// slackID are the letters with which ids of Slack begin, by the kind of a rule. Ids of
// Discord are numbers, whatever they name.
var slackID = map[string]string{"user": "UW", "group": "S", "channel": "CDG"}

var inSlackID = regexp.MustCompile(`^[A-Z][A-Z0-9]+$`)

var discordID = regexp.MustCompile(`^[0-9]{1,20}$`)

// possible refuses rules for which no platform of the file has a person or place.
func (k *checker) possible(key string, rules []string) {
	k.on(key, rules, k.c.Slack != nil, k.c.Discord != nil)
}

func (k *checker) on(key string, rules []string, slack, discord bool) {
	for i, rule := range rules {
		kind, id, _ := strings.Cut(rule, ":")
		first := slackID[kind]
		switch {
		case first == "" && kind != "role" || !slack && !discord || k.doubtful(item(key, i)):
		case kind == "role" && !discord:
			k.at(item(key, i), "is a role, of which Slack has none, so nobody could be it; write group:ID or user:ID")
		case kind == "group" && !slack:
			k.at(item(key, i), "is a user group, of which Discord has none, so nobody could be in it; write role:ID or user:ID")
		case slack && inSlackID.MatchString(id) && strings.Contains(first, id[:1]) || discord && kind != "group" && discordID.MatchString(id):
		case slack && !discord:
			k.at(item(key, i), "has no id of Slack; copy it there, as in %s:%s0123ABCD", kind, first[:1])
		case discord && !slack:
			k.at(item(key, i), "has no id of Discord; copy it there, as in %s:1258291200029360128", kind)
		default:
			k.at(item(key, i), "has neither an id of Slack nor one of Discord; copy it there")
		}
	}
}

// satisfiable reports rules that nobody could ever meet. How many people are
// in a group or a role, or are anyone, is not known here.
func (k *checker) satisfiable(key string, a Approvals) {
	people := map[string]bool{}
	for _, list := range []struct {
		key   string
		rules []string
	}{{key + ".approvers", a.Approvers}, {key + ".escalate.approvers", a.Escalate.Approvers}} {
		for i, one := range list.rules {
			switch {
			case k.doubtful(item(list.key, i)) || one != "requester" && !strings.HasPrefix(one, "user:"):
				return
			case one != "requester" || !a.excludes():
				people[one] = true
			}
		}
	}
	switch n := len(people); {
	case len(a.Approvers) == 0:
	case n == 0:
		k.at(key+".exclude_requester", "leaves nobody who could approve; add others than the requester to approvers, or write false")
	case n < a.Quorum:
		k.at(key+".quorum", "can't be reached, as approvers and exclude_requester leave only %d; add others to approvers, or write a smaller number", n)
	}
}

// emoji checks the reactions: each means one thing.
func (k *checker) emoji(key string, a Approvals) {
	meaning := map[string]string{chat.EmojiStop: "to stop a turn", chat.EmojiRetry: "to try again", chat.EmojiMute: "to be quiet"}
	for _, list := range []struct {
		key, meaning string
		emoji        []string
	}{{key + ".approve", "to approve", a.Approve}, {key + ".deny", "to deny", a.Deny}} {
		for i, e := range normal(list.emoji) {
			other, taken := meaning[e]
			switch {
			case k.c.Slack != nil && !chat.OnSlack(e):
				k.at(item(list.key, i), "is no emoji that Slack has a name for, so nobody could react with it; write another")
			case taken && other != list.meaning:
				k.at(item(list.key, i), "is the emoji %s already; write another", other)
			}
			meaning[e] = list.meaning
		}
	}
}

// normal gives emoji in the form in which they compare equal.
func normal(emoji []string) []string {
	out := make([]string, len(emoji))
	for i, e := range emoji {
		out[i] = chat.NormalEmoji(e)
	}
	return out
}

// distinct drops repetitions.
func distinct[S ~string](words []S) []S {
	var out []S
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// excludes says whether the requester may not approve.
func (a Approvals) excludes() bool {
	return a.ExcludeRequester == ExcludeTurn || a.ExcludeRequester == ExcludeThread
}

// Rules gives the approvals as the agent keeps them in a thread's log.
func (a Approvals) Rules() memory.Rules {
	return memory.Rules{
		Approvers: a.Approvers, Quorum: a.Quorum, ExcludeRequester: a.excludes(), ExcludeThread: a.ExcludeRequester == ExcludeThread,
		Timeout: a.Timeout, Approve: a.Approve, Deny: a.Deny, By: a.ways(), Grants: a.Grants.rules(),
		Quiet: !slices.Contains(a.Notify, notifyMention), Channels: a.channels(), Direct: slices.Contains(a.Notify, notifyDM),
		Remind: a.Remind, RunWithin: a.RunWithin, Escalate: memory.Escalation(a.Escalate),
	}
}

// ways are those that approve; none where all do. With a factor no other one does.
func (a Approvals) ways() (ways []chat.Way) {
	if a.Factor == FactorCode {
		return []chat.Way{chat.ByCode}
	}
	by := distinct(a.By)
	if len(by) == len(Way("").Allowed()) {
		return nil
	}
	for _, w := range by {
		ways = append(ways, chat.Way(w))
	}
	return ways
}

// notifyMention has those who may decide mentioned, notifyDM has them get the card in
// direct conversations; a word that begins with notifyChannel has it stand in a channel
// too.
const (
	notifyMention = "mention"
	notifyDM      = "dm"
	notifyChannel = "channel:"
)

// channels lists the ids of channels in which a card stands too.
func (a Approvals) channels() (ids []string) {
	for _, word := range a.Notify {
		if id, ok := strings.CutPrefix(word, notifyChannel); ok {
			ids = append(ids, id)
		}
	}
	return distinct(ids)
}

// Channels lists the ids of all channels in which cards stand too.
func (c *Config) Channels() (ids []string) {
	for _, r := range c.rules() {
		ids = append(ids, r.part.channels()...)
	}
	return distinct(ids)
}

// Direct says whether cards stand in direct conversations too.
func (c *Config) Direct() bool {
	return slices.ContainsFunc(c.rules(), func(r keyed[*Approvals]) bool { return slices.Contains(r.part.Notify, notifyDM) })
}

// deafDirectly says whether a platform hears people in certain channels only.
func (c *Config) deafDirectly() bool {
	deaf := func(allow []string) bool {
		return len(allow) > 0 && !slices.ContainsFunc(allow, func(rule string) bool { return !strings.HasPrefix(rule, "channel:") })
	}
	return c.Slack != nil && deaf(c.Slack.Allow) || c.Discord != nil && deaf(c.Discord.Allow)
}

var notifyWord = ruleOf("mention, dm or channel:ID")

// notifyProblem names the mistake in a word of notify.
func notifyProblem(word string) string {
	if id, channel := strings.CutPrefix(word, notifyChannel); word == "channel" || channel && id == "" {
		return "needs the id of the channel, such as channel:C0123ABCD on Slack or channel:1258291200029360128 on Discord"
	}
	return notifyWord.problem(word)
}

// notify checks where those who may decide hear of an approval.
func (k *checker) notify(key string, words []string) {
	k.possible(key, words)
	for i, word := range words {
		if word == notifyDM && k.c.deafDirectly() {
			k.at(item(key, i), "would be of no use: allow names channels only, so nobody who decides in a direct conversation is heard; name people or groups there too, or write mention or channel:ID")
		}
	}
}

// remind and escalate check the rules for an approval that nobody decides.
func (k *checker) remind(key string, a Approvals) {
	if a.Timeout > 0 && a.Remind >= a.Timeout {
		k.at(key, "is not before timeout (%s), so nobody would be reminded; write a shorter one", a.Timeout)
	}
}

func (k *checker) escalate(on string, a Approvals) {
	e := a.Escalate
	if e.After == 0 && len(e.Approvers) == 0 && !k.written(on+".after") {
		return
	}
	switch {
	case e.After <= 0: // or not written at all
		k.at(on+".after", "must be a length of time, such as 15m: from then on the approvers below may decide too")
	case a.Timeout > 0 && e.After >= a.Timeout:
		k.at(on+".after", "is not before timeout (%s), so these could never decide; write a shorter one", a.Timeout)
	}
	if len(e.Approvers) == 0 {
		k.at(on+".approvers", "must name somebody: write requester, anyone, user:ID, group:ID or role:ID")
	}
	k.possible(on+".approvers", e.Approvers)
	for i, one := range e.Approvers {
		switch {
		case one == "requester" && a.excludes():
			k.at(item(on+".approvers", i), "is whoever asked, who may not approve with exclude_requester; name others")
		case slices.Contains(a.Approvers, one):
			k.at(item(on+".approvers", i), "may decide from the beginning already; name others")
		}
	}
}

// rules gives the bounds as the agent has them; none of them means off.
func (g Grants) rules() memory.Grants {
	if g.Most <= 0 && g.Uses <= 0 {
		return memory.Grants{}
	}
	return memory.Grants{Most: cmp.Or(g.Most, time.Hour), Uses: cmp.Or(g.Uses, 20)}
}
