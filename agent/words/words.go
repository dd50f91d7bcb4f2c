// Package words answers the words that people say to the bot, and lists what they ask for.
package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/approval"
	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/prompt"
	"nod/agent/schedules"
	"nod/agent/speak"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/vocabulary"
	"nod/memory"
)

const (
	textIdle    = "Nothing is running here."
	textHidden  = "I could not show the changed arguments on the card, so the call is denied."
	textBots    = "Only bots asked here, five times in a row. I go on when a person writes."
	textMuted   = "From now on I answer here only when I am mentioned. `unmute` takes that back."
	textUnmuted = "I follow this thread again."
)

// Speaker answers the words of a thread.
type Speaker struct {
	Prompt    prompt.Writer // with the thread
	Tools     policy.Set
	Skills    []policy.Skill
	SkillOff  func(name string) string
	Schedules schedules.Case
	Prices    *view.Prices
	Can       map[string]bool // whether words are there that need something of the file
	Calling   func(platform string) string
	Here      func(text string) string // says it as it is meant in this conversation
}

// Reply is the text that answers a word.
func (s Speaker) Reply(c *thread.Command) string {
	switch c.Word {
	case "stop":
		return textIdle
	case "edit":
		return Changed(s.Prompt.Thread, c)
	case "which":
		return view.Which(s.Prompt.Thread)
	case "schedule", "schedules", "unschedule", "resume":
		return s.Schedules.Reply(c)
	case "skills":
		return s.skills()
	case "mute":
		return textMuted
	case "unmute":
		return textUnmuted
	case "memory":
		return s.memory()
	case "steps":
		return s.lastSteps()
	case "recap":
		return "Earlier here: " + s.Prompt.Thread.Trim.Recap
	case "grants":
		return view.Grants(s.Prompt.Thread)
	case "allow":
		return view.Allowed(s.Prompt.Thread, c)
	case "revoke":
		return view.Revoked(s.Prompt.Thread, c.Arg)
	case "artifacts":
		return view.Artifacts(s.Prompt.Thread)
	case "bots":
		return textBots
	case "no room":
		return view.NoRoom(c.Files)
	case "drop":
		return view.Dropped(s.Prompt.Thread, c.Arg)
	case "tools off", "tools on":
		return s.switched(c.Word, c.Arg)
	}
	return s.help(c)
}

// help says what the bot can do in a thread of a platform.
func (s Speaker) help(c *thread.Command) string {
	var b strings.Builder
	b.WriteString("I answer questions and use tools; you see each step, and a risky call waits for an approval by reaction.\n\n")
	if s.Calling != nil {
		if how := s.Calling(c.Ref.Platform); how != "" {
			b.WriteString(how + "\n\n")
		}
	}
	for _, w := range vocabulary.Table {
		here, conditional := s.Can[w.Name]
		if w.Help != "" && (here || !conditional) {
			b.WriteString("- " + s.Here(w.Help) + "\n")
		}
	}
	b.WriteString("\n")
	mine := slices.DeleteFunc(slices.Clone(s.Tools), func(t policy.Tool) bool {
		return t.Reads && len(s.Prompt.Thread.Held()) == 0 || !t.IsFor(c.From.ID, c.Is.In) || t.Name == thread.TeamSearch && !c.Eyes
	})
	if len(mine) == 0 {
		b.WriteString("I have no tools here.")
		return b.String()
	}
	b.WriteString("My tools:\n")
	var found policy.Set
	for _, t := range mine {
		if t.Hidden && t.Risk != policy.Never && !s.Prompt.Thread.IsOff(t.Name) {
			found = append(found, t)
		}
		if t.Hidden {
			continue
		}
		fmt.Fprintf(&b, "- `%s`: %s%s\n", t.Name, phrase.FirstSentence(t.Description), s.toolNote(t))
	}
	if len(found) > 0 {
		b.WriteString("\nTools that the model finds by search:\n" + found.Servers())
	}
	return strings.TrimRight(b.String(), "\n")
}

// toolNote says how a tool is switched, or who approves it.
func (s Speaker) toolNote(t policy.Tool) string {
	switch {
	case s.Prompt.Thread.IsOff(t.Name):
		return " (switched off in this thread)"
	case t.Risk == policy.Auto:
		return ""
	case t.Risk == policy.Ask:
		return fmt.Sprintf(" (asks for approval: %s)", strings.Join(t.Rules.Approvers, ", "))
	}
	return " (switched off)"
}

// switched answers `tools off` and `tools on`.
func (s Speaker) switched(word, name string) string {
	var hit []string
	for _, t := range s.Tools {
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

// memory answers `memory`: what the model sees right now.
func (s Speaker) memory() string {
	w := s.Prompt
	if w.Thread.Open == nil {
		// the prompt of a next message
		next := *w.Thread
		next.Open = &thread.Turn{At: next.Now}
		if w.Book != nil {
			next.Facts = w.Book.Refs()
			next.Open.Facts = next.Facts
		}
		next.Turns = append(slices.Clip(next.Turns), next.Open)
		w.Thread, w.Taint.Thread = &next, &next
	}
	holds := w.Weigh()
	var b strings.Builder
	fmt.Fprintf(&b, "I see %d earlier %s of this thread", holds.Turns, phrase.Plural(holds.Turns, "turn"))
	if holds.Left {
		b.WriteString("; older ones are left out")
	}
	if w.Budget > 0 {
		fmt.Fprintf(&b, ". That is %d of %d tokens (%d of them for instructions and tools).", holds.Used, w.Budget, holds.Fixed)
	} else {
		fmt.Fprintf(&b, ". That is %d tokens (%d of them for instructions and tools).", holds.Used, holds.Fixed)
	}
	b.WriteString(view.Remembered(w.Thread) + since(w))
	return b.String()
}

// since says since when, and by what, a thread is tainted.
func since(w prompt.Writer) string {
	if !w.Taint.On {
		return ""
	}
	taint := w.Taint.OfPrompt(w.Thread.Trim)
	if taint.Source == "" {
		return ""
	}
	at := ""
	if !taint.Since.IsZero() {
		at = " since " + taint.Since.In(cmp.Or(w.Zone, time.UTC)).Format("2 January 2006, 15:04 MST")
	}
	return fmt.Sprintf("\n\n**Content from outside**%s: %s. So whatever can change something or send something out asks here.", at, taint.Source)
}

// lastSteps writes out the last turn that used tools.
func (s Speaker) lastSteps() string {
	for _, t := range slices.Backward(s.Prompt.Thread.Turns) {
		if t.Acts() {
			return view.WriteSteps(view.Steps(s.Prompt.Thread, t, s.Prices))
		}
	}
	return "No tool was used here yet."
}

// skills lists the skills, and says of each that is off why.
func (s Speaker) skills() string {
	if len(s.Skills) == 0 {
		return "I have no skills here."
	}
	b := strings.Builder{}
	b.WriteString("`use NAME` has me read one for the next turn.\n")
	for _, k := range s.Skills {
		switch why := s.SkillOff(k.Name); {
		case why != "":
			fmt.Fprintf(&b, "- `%s` is off: %s.\n", k.Name, why)
		default:
			fmt.Fprintf(&b, "- `%s`: %s\n", k.Name, k.Description)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// Changed answers a change by word.
func Changed(t *thread.Thread, c *thread.Command) string {
	b, ok := t.Became[c.Seq].(memory.Changed)
	switch {
	case !ok:
		return ""
	case b.Refused != "":
		return approval.NotChanged(b.Refused)
	case t.Calls[b.Call] != nil && t.Calls[b.Call].Card.Hidden:
		return textHidden
	}
	return "Changed. All votes so far are void: the card shows what would run now."
}

// Correction tells the outcome of a call that was unknown before.
func Correction(r memory.Result) string {
	how := "it was done"
	if r.State == chat.CallFailed {
		how = "it failed"
	}
	return fmt.Sprintf("It did end: %s, of which I had said that its outcome is unknown. %s.\n\n%s", r.Tool, strings.ToUpper(how[:1])+how[1:], speak.Fence(speak.Clip(r.Text, mostCorrection)))
}

// mostCorrection is how much of such a result people read, in bytes.
const mostCorrection = 500
