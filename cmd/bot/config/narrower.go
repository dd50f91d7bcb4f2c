package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Narrow is the rules a of the section, or of a tool, as they hold in room i.
func (c *Config) Narrow(i int, a Approvals) Approvals {
	key, to := item("channels", i)+".approvals.", reflect.ValueOf(&a).Elem()
	for f, own := range reflect.ValueOf(c.Rooms[i].Approvals).Fields() {
		if c.Written(key + f.Tag.Get("yaml")) {
			to.FieldByName(f.Name).Set(own)
		}
	}
	return a
}

// strictness orders the words about the requester.
var strictness = []Exclude{ExcludeNobody, ExcludeTurn, ExcludeThread}

// narrower refuses rules of a room that are looser than those of the section, or of a tool
// that is there.
func (k *checker) narrower(i int) {
	key := item("channels", i) + ".approvals"
	if !k.written(key) {
		return
	}
	k.possible(key+".approvers", k.c.Rooms[i].Approvals.Approvers)
	for _, r := range k.c.rules() {
		was := *r.part
		now := k.c.Narrow(i, was)
		for _, name := range looser(was, now) {
			k.at(key+"."+name, "is looser than %s.%s; a room can only be stricter", r.key, name)
		}
		if now.Timeout != was.Timeout {
			k.remind(key+".timeout", now)
		}
		k.ways(key, now)
		k.satisfiable(key, now)
	}
}

// looser names the keys that give more than before.
func looser(was, now Approvals) (keys []string) {
	add := func(name string, more bool) {
		if more {
			keys = append(keys, name)
		}
	}
	g, most := now.Grants.rules(), was.Grants.rules()
	add("timeout", now.Timeout > was.Timeout)
	add("approvers", !slices.Contains(was.Approvers, "anyone") && slices.ContainsFunc(now.Approvers, func(one string) bool {
		instead := now.excludes() && strings.HasPrefix(one, "user:") && slices.Contains(was.Approvers, "requester")
		return !slices.Contains(was.Approvers, one) && !instead
	}))
	add("quorum", now.Quorum < was.Quorum)
	add("exclude_requester", cmp.Less(slices.Index(strictness, now.ExcludeRequester), slices.Index(strictness, was.ExcludeRequester)))
	add("by", slices.ContainsFunc(now.By, func(w Way) bool { return !slices.Contains(was.By, w) }))
	add("factor", was.Factor == FactorCode && now.Factor != FactorCode)
	add("grants", g.Most > most.Most || g.Uses > most.Uses)
	return keys
}
