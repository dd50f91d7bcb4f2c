package layout

import (
	"cmp"
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
)

// The steps are one container block, which Slack folds: of the blocks that
// fold it is the one whose folding is said in the message (default_collapsed),
// and that takes text of any kind. A plan block needs a rich_text for each
// detail and folds only by habit. Edits keep the block's id, so that readers
// who had it open may keep it open.

// ShowAll is the button that shows the steps whole, to whoever clicks.
const ShowAll = "nod_steps"

// Caps of what the message shows of a step.
const (
	mostThought  = 700
	mostArgs     = 500
	mostObserved = 700
)

// mostSteps is what the sections of the message have together. Slack limits all
// blocks of a message, the ones that hold others too, to some 13,000 characters,
// and counts something for each block.
const mostSteps = 9000

// StepsPart writes the steps message: as a container, which folds and takes any
// text; as a plan, which folds by habit; as one section, which Slack folds when
// it is long; and as text.
func StepsPart(thread chat.ThreadID, s *chat.Steps) Part {
	title, button := Escape(StepsTitle(s)), showAll(thread, s)
	plain := title
	if body := strings.Join(newest(stepLines(s), MostFallback-markdown.UTF16(plain)-1), "\n"); body != "" {
		plain += "\n" + body
	}
	return Part{
		{Shape: "container", Blocks: []slackgo.Block{stepsBox(thread, s, mostSteps)}, Text: title},
		{Shape: "plan", Blocks: append([]slackgo.Block{stepsPlan(stepsID(s), s)}, button...), Text: title},
		{Shape: "section", Blocks: append([]slackgo.Block{Section(shortSteps(s, MostSection))}, button...), Text: title},
		{Text: plain},
	}
}

// stepsBox is the container, with sections of at most so many characters.
func stepsBox(thread chat.ThreadID, s *chat.Steps, most int) *slackgo.ContainerBlock {
	children := stepChildren(s, most)
	if spent := summary.Spent(s); spent != "" && s.Done {
		children = append(children, slackgo.NewContextBlock("", Mrkdwn(Escape(spent))))
	}
	return slackgo.NewContainerBlock(append(children, showAll(thread, s)...)...).
		WithTitle(PlainText(StepsTitle(s))).WithCollapsible(true, true).WithBlockID(stepsID(s))
}

func stepsID(s *chat.Steps) string { return "nod-steps-" + s.Turn }

// showAll is the button below steps; none where there are no steps yet.
func showAll(thread chat.ThreadID, s *chat.Steps) []slackgo.Block {
	if len(s.Items) == 0 {
		return nil
	}
	return []slackgo.Block{slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(ShowAll, thread.String()+" "+s.Turn, PlainText("Show all")))}
}

// shortSteps are the title and the newest steps, in at most so many characters.
func shortSteps(s *chat.Steps, most int) string {
	bold := "*" + Escape(StepsTitle(s)) + "*"
	return summary.Lines(append([]string{bold}, newest(stepLines(s), most-markdown.UTF16(bold)-1)...)...)
}

func stepLines(s *chat.Steps) []string {
	var lines []string
	for _, e := range stepElements(s) {
		lines = append(lines, Shorten(chat.Flat(e), 300))
	}
	return lines
}

// stepChildren packs the steps into sections of at most so many characters together, but
// the newest is there in any case. When they don't fit the oldest
// are left out, and the first section says how many.
func stepChildren(s *chat.Steps, most int) []slackgo.Block {
	const room = mostChildren - 3 // the button, what is left out, what was used
	packed := []string{}
	elements := stepElements(s)
	left, used := 0, 0
	for i := len(elements) - 1; i >= 0; i-- {
		e := elements[i]
		last := len(packed) - 1
		used += markdown.UTF16(e) + 2
		switch {
		case used > most && last >= 0:
			left = i + 1
		case last >= 0 && markdown.UTF16(packed[last])+markdown.UTF16(e)+2 <= MostSection:
			packed[last] = e + "\n\n" + packed[last]
			continue
		case len(packed) == room:
			left = i + 1
		default:
			packed = append(packed, e)
			continue
		}
		break
	}
	var out []slackgo.Block
	if left > 0 {
		out = append(out, Section(fmt.Sprintf("_%s left out here_", summary.Count(left, "earlier entry"))))
	}
	for i := len(packed) - 1; i >= 0; i-- {
		out = append(out, Section(packed[i]))
	}
	if len(out) == 0 {
		out = append(out, Section("_"+Escape(Shorten(chat.Flat(s.Status), mostTitle))+" …_"))
	}
	return out
}

// Caps of a plan: of its tasks, and of the texts of each.
const (
	mostTasks    = 12
	mostTaskText = 150
)

// stepsPlan writes the steps as tasks, the newest that there is room for.
func stepsPlan(id string, s *chat.Steps) slackgo.Block {
	var tasks []*slackgo.TaskCardBlock
	for _, item := range s.Items {
		for _, c := range item.Calls {
			task := slackgo.NewTaskCardBlock(fmt.Sprint(len(tasks)+1), Shorten(chat.Flat(c.Tool), 100))
			task.Status = taskStatus(c.State)
			task.Details = rich(Shorten(chat.Flat(item.Thought+" "+chat.Exact(c.Args)), mostTaskText))
			task.Output = rich(Shorten(chat.Flat(c.Observation), mostTaskText))
			tasks = append(tasks, task)
		}
	}
	if len(tasks) == 0 {
		tasks = append(tasks, slackgo.NewTaskCardBlock("1", cmp.Or(chat.Flat(s.Status), "Done")))
		tasks[0].Status = slackgo.TaskCardStatusInProgress
	}
	tasks = tasks[max(0, len(tasks)-mostTasks):]
	return slackgo.NewPlanBlock(StepsTitle(s), slackgo.PlanBlockOptionBlockID(id)).WithTasks(tasks...)
}

func taskStatus(s chat.CallState) slackgo.TaskCardStatus {
	switch s {
	case chat.CallPlanned:
		return slackgo.TaskCardStatusPending
	case chat.CallAsking, chat.CallRunning:
		return slackgo.TaskCardStatusInProgress
	case chat.CallDone:
		return slackgo.TaskCardStatusComplete
	}
	return slackgo.TaskCardStatusError
}

// rich is text without markup, as tasks want it; nil for none.
func rich(s string) *slackgo.RichTextBlock {
	if s == "" {
		return nil
	}
	return slackgo.NewRichTextBlock("", slackgo.NewRichTextSection(slackgo.NewRichTextSectionTextElement(s, nil)))
}

// stepElements writes the thoughts, and the calls with what came of them, in
// Slack's markup; each fits a section.
func stepElements(s *chat.Steps) []string {
	var out []string
	for _, item := range s.Items {
		if item.Thought != "" {
			out = append(out, "*Thought* "+Shorten(Escape(strings.TrimSpace(item.Thought)), mostThought))
		}
		for _, c := range item.Calls {
			out = append(out, callElement(c))
		}
	}
	return out
}

func callElement(c chat.ToolCall) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*Action* %s", InlineCode(Shorten(c.Tool, 100)))
	if args := InlineCode(Shorten(chat.Exact(c.Args), mostArgs)); args != "" {
		b.WriteString(" " + args)
	}
	state, over := summary.State(c)
	if !over {
		return b.String() + "\n_" + state + "_"
	}
	fmt.Fprintf(&b, "\n*Observation* (%s)", Escape(state))
	if seen := strings.TrimSpace(c.Observation); seen != "" {
		b.WriteString(" " + Shorten(Escape(seen), mostObserved))
	}
	return b.String()
}

// StepsTitle is the line that shows while the message is folded.
func StepsTitle(s *chat.Steps) string {
	if !s.Done {
		title := chat.Flat(s.Status)
		if n := len(s.Items); n > 0 {
			title = fmt.Sprintf("Step %d · %s", n, title)
		}
		return Shorten(title+" …", mostTitle)
	}
	tools := summary.Tools(s, func(name string) string { return Shorten(chat.Flat(name), 30) })
	return Shorten(summary.Dotted(summary.Ending(s, chat.Flat), summary.Count(len(s.Items), "step"), tools, summary.Troubles(s), summary.Time(s)), mostTitle)
}

// newest keeps the last lines that fit.
func newest(lines []string, most int) []string {
	n := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if n += markdown.UTF16(lines[i]) + 1; n > most {
			return lines[i+1:]
		}
	}
	return lines
}
