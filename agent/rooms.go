package agent

import (
	"slices"
	"strings"

	"nod/agent/policy"
)

// Room is what is different in some channels. It only takes away from what the team has.
type Room struct {
	Instructions string          // behind the team's
	Model        string          // that answers where people chose none; "": the first
	Without      map[string]bool // names of the tools that are not there
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
	return &b
}
