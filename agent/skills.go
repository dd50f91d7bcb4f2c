package agent

import (
	"slices"

	"nod/agent/policy"
	"nod/chat"
	"nod/chat/vocabulary"
)

// Uses is the skill that a message asks for by `use NAME`; "" where its channel has no such
// skill, so that the message is text.
func (a *Agent) Uses(channel string, m chat.Message) string {
	word, name, ok := vocabulary.Parse(m.Text)
	if !ok || word != "use" || m.From.Bot || m.Aside || m.Outside ||
		!slices.ContainsFunc(a.In(channel).Skills, func(s policy.Skill) bool { return s.Name == name }) {
		return ""
	}
	return name
}
