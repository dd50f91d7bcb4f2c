package discord

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

// stepsPart writes the steps message.
func stepsPart(thread chat.ThreadID, s *chat.Steps) part {
	shown := shows{stepsButton, api.PlaceOf(thread), s.Turn, 0}
	p := part{content: stepsLine(s), button: shown.prefix(), silent: true}
	if id := shown.id(); id != "" {
		p.buttons = append(p.buttons, discordgo.Button{Label: "Steps", Style: discordgo.SecondaryButton, CustomID: id})
	}
	shown.kind = stopButton
	if id := shown.id(); id != "" && !s.Done {
		p.buttons = append(p.buttons, discordgo.Button{Label: "Stop", Style: discordgo.DangerButton, CustomID: id})
	}
	return p
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
	var parts []string
	if s.Status != "" && s.Status != "Done" {
		parts = append(parts, dialect.Shorten(dialect.Verbatim(s.Status), 100))
	}
	parts = append(parts, summary.Count(len(s.Items), "step"))
	if s.Took > 0 {
		parts = append(parts, summary.Took(s.Took))
	}
	if tools := summary.Tools(s, func(name string) string { return dialect.Verbatim(dialect.Shorten(chat.Flat(name), 40)) }); tools != "" {
		parts = append(parts, tools)
	}
	if spent := summary.Spent(s); spent != "" {
		parts = append(parts, spent)
	}
	return strings.Join(parts, " · ")
}

// The ids of buttons say what to show: which page of the steps of which turn,
// in a message of its own or in place of another page.
const (
	stepsButton  = "steps"
	pageButton   = "page"
	stopButton   = "stop"
	mostCustomID = 100
)

// customID writes the id of a button or of a form; "" where it would be too long, or
// could not be read back.
func customID(parts ...string) string {
	id := strings.Join(parts, "|")
	if markdown.UTF16(id) > mostCustomID || strings.Count(id, "|") >= len(parts) {
		return ""
	}
	return id
}

// readID gives the parts of an id, of which the first is one of these kinds.
func readID(id string, n int, kinds ...string) (parts []string, ok bool) {
	parts = strings.Split(id, "|")
	return parts, len(parts) == n && slices.Contains(kinds, parts[0])
}

// shows is what a click asks for.
type shows struct {
	kind  string
	place api.Place
	turn  string
	page  int
}

// id writes the id of a button; "" when it would be too long for Discord.
func (s shows) id() string {
	return customID(s.kind, s.place.String(), s.turn, strconv.Itoa(s.page))
}

func (s shows) prefix() string {
	return s.kind + "|" + s.place.String() + "|" + s.turn + "|"
}

// readButton is the inverse of id.
func readButton(id string) (shows, bool) {
	parts, ok := readID(id, 4, stepsButton, pageButton, stopButton)
	if !ok {
		return shows{}, false
	}
	page, err := strconv.Atoi(parts[3])
	return shows{parts[0], api.ReadPlace(parts[1]), parts[2], page}, err == nil && page >= 0
}

// stepsPages writes steps in full, as so many messages as it takes.
func stepsPages(s chat.Steps) []string {
	out := []dialect.Sheet{{Text: stepsLine(&s)}}
	for _, item := range s.Items {
		if item.Thought != "" {
			out = append(out, dialect.Sheet{Text: "**Thought**\n" + quoteLines(item.Thought)})
		}
		for _, c := range item.Calls {
			out = append(out, callSheets(c)...)
		}
	}
	return dialect.Paged(out, mostContent-100)
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
