package slack

import (
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
)

// summonsPart writes a text that calls people to an approval: who is meant, what
// about, and a link to its card, since no message of a thread answers another.
func summonsPart(thread chat.ThreadID, t *chat.Text, c card) part {
	var lines []string
	if who := summoned(t.Summons); !t.Summons.Quiet && who != "" {
		lines = append(lines, who)
	}
	lines = append(lines, markdown.Styled(t.Markdown, style))
	if c.workspace != "" {
		lines = append(lines, style.Link("Open the approval", permalink(c.workspace, thread, t.Summons.Card)))
	}
	plain := shorten(escape(markdown.Plain(t.Markdown)), mostFallback)
	text := strings.Join(lines, "\n")
	return part{{blocks: []slackgo.Block{section(shorten(text, mostSection))}, text: plain}, {text: text}}
}

// askingParts writes a text that asks people something, below who is meant.
func askingParts(t *chat.Text, c card) []part {
	parts := answerParts(t, c)
	who := summoned(t.Summons)
	if t.Summons.Quiet || who == "" {
		return parts
	}
	parts[0] = parts[0].all()
	for i, f := range parts[0] {
		switch {
		case len(f.blocks) > 0:
			parts[0][i].blocks = append([]slackgo.Block{section(who)}, f.blocks...)
		case !f.plain:
			parts[0][i].text = who + "\n" + f.text
		}
	}
	return parts
}

// summoned mentions those who may decide.
func summoned(s *chat.Summons) string {
	var out []string
	add := func(who string) {
		if !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	for _, rule := range s.Approvers {
		switch kind, id, _ := strings.Cut(rule, ":"); {
		case kind == chat.Requester && !slices.Contains(s.Exclude, s.Requester.ID):
			add(person(s.Requester))
		case kind == "user" && !slices.Contains(s.Exclude, chat.UserID(id)), kind == "group":
			add(approver(rule, s.Requester, true))
		}
	}
	return strings.Join(out, " ")
}
