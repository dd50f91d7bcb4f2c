package agent

import (
	"slices"
	"strings"

	"nod/agent/policy"
	"nod/chat"
	"nod/memory"
)

// Room is what is different in some channels. It only takes away from what the team has.
type Room struct {
	Instructions string                  // behind the team's
	Model        string                  // that answers where people chose none; "": the first
	Without      map[string]bool         // names of the tools that are not there
	Skills       []policy.Skill          // that are there; nil: all
	Rules        map[string]memory.Rules // of the tools by name, where they are stricter
}

// Codes says whether only a code approves some call, in any room.
func (a *Agent) Codes() bool {
	for _, r := range a.Rooms {
		for _, rules := range r.Rules {
			if chat.NeedsCode(rules.By) {
				return true
			}
		}
	}
	return slices.ContainsFunc(a.Tools, func(t policy.Tool) bool { return chat.NeedsCode(t.Rules.By) })
}

// In is the agent in a channel, platform:ID.
func (a *Agent) In(channel string) *Agent {
	r, there := a.Rooms[channel]
	if !there {
		return a
	}
	b := *a
	b.Room = r
	if r.Instructions != "" {
		b.Instructions = strings.TrimSpace(a.Instructions + "\n\n" + r.Instructions)
	}
	b.Tools = slices.DeleteFunc(slices.Clone(a.Tools), func(t policy.Tool) bool { return r.Without[t.Name] })
	if r.Skills != nil {
		b.Skills, b.Tools = r.Skills, b.Tools.WithSkills(r.Skills)
	}
	for i, t := range b.Tools {
		if stricter, ok := r.Rules[t.Name]; ok {
			b.Tools[i].Rules, b.Tools[i].OwnTimeout = stricter, t.OwnTimeout || stricter.Timeout != t.Rules.Timeout
		}
	}
	return &b
}
