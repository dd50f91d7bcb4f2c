package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/policy"
	"nod/chat"
	"nod/chat/vocabulary"
)

// Uses is the skill that a message asks for by `use NAME`; "" where its channel has no such
// skill, so that the message is text.
func (a *Agent) Uses(channel string, m chat.Message) string {
	word, name, ok := vocabulary.Parse(m.Text)
	if a == nil || !ok || word != "use" || m.From.Bot || m.Aside || m.Outside ||
		!slices.ContainsFunc(a.In(channel).Skills, func(s policy.Skill) bool { return s.Name == name }) {
		return ""
	}
	return name
}

// skillsReply lists the skills, and says of each that is off why.
func (d *decision) skillsReply() string {
	if len(d.agent.Skills) == 0 {
		return "I have no skills here."
	}
	b := strings.Builder{}
	b.WriteString("`use NAME` has me read one for the next turn.\n")
	for _, s := range d.agent.Skills {
		switch why := d.agent.SkillOff(s.Name); {
		case why != "":
			fmt.Fprintf(&b, "- `%s` is off: %s.\n", s.Name, why)
		default:
			fmt.Fprintf(&b, "- `%s`: %s\n", s.Name, s.Description)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
