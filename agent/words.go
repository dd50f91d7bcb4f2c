package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/speak"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/vocabulary"
	"nod/memory"
)

// Words of nod about itself.
const (
	textForgot     = "Forgotten. I remember nothing of what was said here before."
	textIdle       = "Nothing is running here."
	textGivenUp    = "I could not go on: something in me failed again and again. Whoever runs me finds the cause in the log."
	textHidden     = "I could not show the changed arguments on the card, so the call is denied."
	textBots       = "Only bots asked here, five times in a row. I go on when a person writes."
	textMuted      = "From now on I answer here only when I am mentioned. `unmute` takes that back."
	textUnmuted    = "I follow this thread again."
	textTrouble    = "I can't read what was kept of this thread, so I leave it alone. Whoever runs me finds the cause in the log; `forget` starts it afresh."
	textNothing    = "The model answered nothing, twice. Ask again; whoever runs me finds more in the log."
	textThoughtOut = "The model thought until it may write no more, and came to no answer. Ask again, in smaller parts."
	textWritten    = "The model wrote its tool calls as text, so none ran: its server has no function calling. Whoever runs me finds the remedy in the log."
	textStuck      = "I got stuck: I thought about it and came to no action and no answer. Tell me what to do next, or ask in another way."
)

func textStopped(by chat.User) string { return "Stopped by " + phrase.Name(by) + "." }

// textCorrection tells the outcome of a call that was unknown before.
func textCorrection(r memory.Result) string {
	how := "it was done"
	if r.State == chat.CallFailed {
		how = "it failed"
	}
	return fmt.Sprintf("It did end: %s, of which I had said that its outcome is unknown. %s.\n\n%s", r.Tool, strings.ToUpper(how[:1])+how[1:], speak.Fence(speak.Clip(r.Text, mostCorrection)))
}

// mostCorrection is how much of such a result people read, in bytes.
const mostCorrection = 500

// replyTo is the text that answers a word.
func (d *decision) replyTo(c *thread.Command) string {
	switch c.Word {
	case "stop":
		return textIdle
	case "edit":
		return d.changeReply(c)
	case "which":
		return view.Which(d.thread)
	case "schedule", "schedules", "unschedule", "resume":
		return d.schedules().Reply(c)
	case "remember", "forget fact":
		return d.factReply(c)
	case "facts":
		return d.factsReply()
	case "forget what":
		return d.here(textForgetWhat)
	case "model":
		return d.modelReply(c)
	case "skills":
		return d.skillsReply()
	case "mute":
		return textMuted
	case "unmute":
		return textUnmuted
	case "memory":
		return d.memoryReply()
	case "steps":
		return d.lastSteps()
	case "recap":
		return "Earlier here: " + d.thread.Trim.Recap
	case "grants":
		return view.Grants(d.thread)
	case "allow":
		return view.Allowed(d.thread, c)
	case "revoke":
		return view.Revoked(d.thread, c.Arg)
	case "artifacts":
		return view.Artifacts(d.thread)
	case "bots":
		return textBots
	case "no room":
		return view.NoRoom(c.Files)
	case "drop":
		return view.Dropped(d.thread, c.Arg)
	case "tools off", "tools on":
		return d.switchedReply(c.Word, c.Arg)
	}
	return d.help(c)
}

// help says what the bot can do in a thread of a platform.
func (d *decision) help(c *thread.Command) string {
	var b strings.Builder
	b.WriteString("I answer questions and use tools; you see each step, and a risky call waits for an approval by reaction.\n\n")
	if d.agent.Calling != nil {
		if how := d.agent.Calling(c.Ref.Platform); how != "" {
			b.WriteString(how + "\n\n")
		}
	}
	grants := slices.ContainsFunc(d.agent.Tools, func(t policy.Tool) bool { return t.Rules.Grants.Most > 0 })
	for _, w := range vocabulary.Table {
		here, conditional := map[string]bool{
			"allow": grants, "schedules": d.agent.Schedules.Thread > 0, "facts": d.agent.Facts.Most > 0, "skills": len(d.agent.Skills) > 0, "model": len(d.agent.Models) > 0, "alerts": len(d.agent.Alerts) > 0,
		}[w.Name]
		if w.Help != "" && (here || !conditional) {
			b.WriteString("- " + d.here(w.Help) + "\n")
		}
	}
	b.WriteString("\n")
	mine := slices.DeleteFunc(slices.Clone(d.agent.Tools), func(t policy.Tool) bool {
		return t.Reads && len(d.thread.Held()) == 0 || !t.IsFor(c.From.ID, c.Is.In) || t.Name == thread.TeamSearch && !c.Eyes
	})
	if len(mine) == 0 {
		b.WriteString("I have no tools here.")
		return b.String()
	}
	b.WriteString("My tools:\n")
	var found policy.Set
	for _, t := range mine {
		if t.Hidden && t.Risk != policy.Never && !d.thread.IsOff(t.Name) {
			found = append(found, t)
		}
		if t.Hidden {
			continue
		}
		fmt.Fprintf(&b, "- `%s`: %s%s\n", t.Name, phrase.FirstSentence(t.Description), d.toolNote(t))
	}
	if len(found) > 0 {
		b.WriteString("\nTools that the model finds by search:\n" + found.Servers())
	}
	return strings.TrimRight(b.String(), "\n")
}

// toolNote says how a tool is switched, or who approves it.
func (d *decision) toolNote(t policy.Tool) string {
	switch {
	case d.thread.IsOff(t.Name):
		return " (switched off in this thread)"
	case t.Risk == policy.Auto:
		return ""
	case t.Risk == policy.Ask:
		return fmt.Sprintf(" (asks for approval: %s)", strings.Join(t.Rules.Approvers, ", "))
	}
	return " (switched off)"
}

// switchedReply answers `tools off` and `tools on`.
func (d *decision) switchedReply(word, name string) string {
	var hit []string
	for _, t := range d.agent.Tools {
		if thread.StandsFor(t.Name, name) {
			hit = append(hit, "`"+t.Name+"`")
		}
	}
	switch {
	case len(hit) == 0:
		return fmt.Sprintf("There is no tool `%s`. `help` lists the tools.", name)
	case word == "tools off":
		return fmt.Sprintf("Switched off in this thread: %s. `tools on %s` switches back.", strings.Join(hit, ", "), name)
	}
	return "Switched on in this thread: " + strings.Join(hit, ", ") + "."
}

// memoryReply answers `memory`: what the model sees right now.
func (d *decision) memoryReply() string {
	if d.thread.Open == nil {
		// the prompt of a next message
		next := *d.thread
		next.Open = &thread.Turn{At: next.Now}
		if d.log.Book != nil {
			next.Facts = d.log.Book.Refs()
			next.Open.Facts = next.Facts
		}
		next.Turns = append(slices.Clip(next.Turns), next.Open)
		d.thread = &next
	}
	holds := d.prompt().Weigh()
	var b strings.Builder
	fmt.Fprintf(&b, "I see %d earlier %s of this thread", holds.Turns, phrase.Plural(holds.Turns, "turn"))
	if holds.Left {
		b.WriteString("; older ones are left out")
	}
	if d.agent.Budget > 0 {
		fmt.Fprintf(&b, ". That is %d of %d tokens (%d of them for instructions and tools).", holds.Used, d.agent.Budget, holds.Fixed)
	} else {
		fmt.Fprintf(&b, ". That is %d tokens (%d of them for instructions and tools).", holds.Used, holds.Fixed)
	}
	b.WriteString(view.Remembered(d.thread) + d.sinceWords())
	return b.String()
}

// sinceWords says since when, and by what, a thread is tainted.
func (d *decision) sinceWords() string {
	if !d.agent.Taint {
		return ""
	}
	taint := d.taint().OfPrompt(d.thread.Trim)
	if taint.Source == "" {
		return ""
	}
	at := ""
	if !taint.Since.IsZero() {
		at = " since " + taint.Since.In(cmp.Or(d.agent.Zone, time.UTC)).Format("2 January 2006, 15:04 MST")
	}
	return fmt.Sprintf("\n\n**Content from outside**%s: %s. So whatever can change something or send something out asks here.", at, taint.Source)
}

// lastSteps writes out the last turn that used tools.
func (d *decision) lastSteps() string {
	for _, t := range slices.Backward(d.thread.Turns) {
		if t.Acts() {
			return view.WriteSteps(view.Steps(d.thread, t, d.agent.Prices))
		}
	}
	return "No tool was used here yet."
}
