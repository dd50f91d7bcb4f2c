package agent

import (
	"slices"

	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/agent/words"
	"nod/chat"
)

// Words of nod about itself.
const (
	textForgot     = "Forgotten. I remember nothing of what was said here before."
	textGivenUp    = "I could not go on: something in me failed again and again. Whoever runs me finds the cause in the log."
	textTrouble    = "I can't read what was kept of this thread, so I leave it alone. Whoever runs me finds the cause in the log; `forget` starts it afresh."
	textNothing    = "The model answered nothing, twice. Ask again; whoever runs me finds more in the log."
	textThoughtOut = "The model thought until it may write no more, and came to no answer. Ask again, in smaller parts."
	textWritten    = "The model wrote its tool calls as text, so none ran: its server has no function calling. Whoever runs me finds the remedy in the log."
	textStuck      = "I got stuck: I thought about it and came to no action and no answer. Tell me what to do next, or ask in another way."
)

func textStopped(by chat.User) string { return "Stopped by " + phrase.Name(by) + "." }

// replyTo is the text that answers a word.
func (d *decision) replyTo(c *thread.Command) string {
	switch c.Word {
	case "remember", "forget fact", "facts", "forget what":
		return d.facts().Reply(c)
	case "model":
		return d.modelReply(c)
	}
	a := d.agent
	return words.Speaker{
		Prompt: d.prompt(), Tools: a.Tools, Skills: a.Skills, SkillOff: a.SkillOff, Schedules: d.schedules(), Prices: a.Prices,
		Calling: a.Calling, Here: d.facts().Here,
		Can: map[string]bool{
			"allow":     slices.ContainsFunc(a.Tools, func(t policy.Tool) bool { return t.Rules.Grants.Most > 0 }),
			"schedules": a.Schedules.Thread > 0, "facts": a.Facts.Most > 0, "skills": len(a.Skills) > 0,
			"model": len(a.Models) > 0, "alerts": len(a.Alerts) > 0,
		},
	}.Reply(c)
}
