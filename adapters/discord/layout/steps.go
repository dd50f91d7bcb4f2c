package layout

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
)

// Discord folds nothing, so the steps are one short message with a button, and
// each reader who clicks gets the steps in full, from the store, where nobody
// else sees them. A spoiler would only blur them, and a thread of their own is
// impossible within a thread.

// StepsPart writes the steps message.
func StepsPart(thread chat.ThreadID, s *chat.Steps) Part {
	shown := Shows{StepsButton, api.PlaceOf(thread), s.Turn, 0}
	p := Part{Content: stepsLine(s), Button: shown.prefix(), Silent: true}
	if id := shown.ID(); id != "" {
		p.Buttons = append(p.Buttons, discordgo.Button{Label: "Steps", Style: discordgo.SecondaryButton, CustomID: id})
	}
	if !s.Done {
		p.Buttons = append(p.Buttons, stopButton(shown)...)
	}
	return p
}

// SignPart writes what the bot does before there are steps.
func SignPart(thread chat.ThreadID, now chat.Work) Part {
	line := stepsLine(&chat.Steps{Status: now.String()})
	stop := Shows{Kind: StopButton, Place: api.PlaceOf(thread)}
	return Part{Content: line, Silent: true, Buttons: stopButton(stop), Button: stop.prefix()}
}

func stopButton(s Shows) []discordgo.MessageComponent {
	s.Kind = StopButton
	if s.ID() == "" {
		return nil
	}
	return []discordgo.MessageComponent{discordgo.Button{Label: "Stop", Style: discordgo.DangerButton, CustomID: s.ID()}}
}

// stepsLine is the current step; in the end, what it took.
func stepsLine(s *chat.Steps) string {
	if !s.Done {
		line := dialect.Verbatim(s.Status)
		if n := len(s.Items); n > 0 {
			line = fmt.Sprintf("Step %d · %s", n, line)
		}
		return "⏳ " + dialect.Shorten(chat.FirstOf(line, "Working"), 300) + " …"
	}
	ending := summary.Ending(s, func(status string) string { return dialect.Shorten(dialect.Verbatim(status), 100) })
	tools := summary.Tools(s, func(name string) string { return dialect.Verbatim(dialect.Shorten(chat.Flat(name), 40)) })
	return summary.Dotted(ending, summary.Count(len(s.Items), "step"), summary.Time(s), tools, summary.Troubles(s), summary.Spent(s))
}

// The ids of buttons say what to show: which page of the steps of which turn,
// in a message of its own or in place of another page.
const (
	StepsButton  = "steps"
	PageButton   = "page"
	StopButton   = "stop"
	MostCustomID = 100
)

// CustomID writes the id of a button or of a form; "" where it would be too long, or
// could not be read back.
func CustomID(parts ...string) string {
	id := strings.Join(parts, "|")
	if markdown.UTF16(id) > MostCustomID || strings.Count(id, "|") >= len(parts) {
		return ""
	}
	return id
}

// Shows is what a click asks for.
type Shows struct {
	Kind  string
	Place api.Place
	Turn  string
	Page  int
}

// ID writes the id of a button; "" when it would be too long for Discord.
func (s Shows) ID() string {
	return CustomID(s.Kind, s.Place.String(), s.Turn, strconv.Itoa(s.Page))
}

func (s Shows) prefix() string {
	return s.Kind + "|" + s.Place.String() + "|" + s.Turn + "|"
}

// ReadButton is the inverse of id.
func ReadButton(id string) (Shows, bool) {
	parts := strings.Split(id, "|")
	if len(parts) != 4 || !slices.Contains([]string{StepsButton, PageButton, StopButton}, parts[0]) {
		return Shows{}, false
	}
	page, err := strconv.Atoi(parts[3])
	return Shows{parts[0], api.ReadPlace(parts[1]), parts[2], page}, err == nil && page >= 0
}

// StepsPages writes steps in full, as so many messages as it takes.
func StepsPages(s chat.Steps) []string {
	out := []dialect.Sheet{{Text: stepsLine(&s)}}
	for _, item := range s.Items {
		if item.Thought != "" {
			out = append(out, dialect.Sheet{Text: "**Thought**\n" + quoteLines(item.Thought)})
		}
		for _, c := range item.Calls {
			out = append(out, callSheets(c)...)
		}
	}
	return dialect.Paged(out, MostContent-100)
}

func callSheets(c chat.ToolCall) []dialect.Sheet {
	out := []dialect.Sheet{
		{Text: "**Action** " + markdown.Inline(dialect.Shorten(c.Tool, 100))},
		{Text: cmp.Or(dialect.Exact(c.Args), "{}"), Lang: "json", Code: true},
	}
	state, over := summary.State(c)
	if !over {
		return append(out, dialect.Sheet{Text: state})
	}
	out = append(out, dialect.Sheet{Text: "**Observation** (" + dialect.Escape(state) + ")"})
	if seen := strings.Trim(c.Observation, "\r\n"); seen != "" {
		out = append(out, dialect.Sheet{Text: chat.Visible(seen), Code: true})
	}
	return out
}

// quoteLines writes a thought so that it can't be taken for anything else of
// the list.
func quoteLines(text string) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), "\n")
	for i, l := range lines {
		lines[i] = "> " + dialect.Escape(l)
	}
	return strings.Join(lines, "\n")
}
