package agent

import (
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// Waits gives the approval of a call, if it waits for this person: they may
// approve it now, by the same judge as a vote, and have not yet.
func (l *Log) Waits(call string, who chat.User, at time.Time, member Member) (chat.Waits, bool) {
	c := l.state.calls[call]
	if c == nil || c.asked == nil || c.ref.IsZero() {
		return chat.Waits{}, false
	}
	did := slices.ContainsFunc(c.standing(), func(v memory.Vote) bool { return v.By.ID == who.ID })
	if did || l.state.ignore(c, memory.Vote{By: who, Verdict: memory.Approve}, at, member) != "" {
		return chat.Waits{}, false
	}
	return chat.Waits{Ref: c.ref, Number: c.asked.Number, Tool: c.Tool, Requester: c.asked.Requester, Deadline: c.deadline()}, true
}

// Offers lists the tools for people.
func (a *Agent) Offers() []chat.Offer {
	var out []chat.Offer
	for _, t := range a.Tools {
		o := chat.Offer{Name: t.Name, About: firstSentence(t.Description), Risk: "switched off"}
		switch t.Risk {
		case Auto:
			o.Risk = "runs by itself"
		case Ask:
			o.Risk = "asks for approval: " + strings.Join(t.Rules.Approvers, ", ")
		}
		out = append(out, o)
	}
	return out
}
