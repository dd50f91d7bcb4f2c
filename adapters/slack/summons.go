package slack

import (
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// summonsPart writes a text that calls people to an approval: who is meant, what
// about, and a link to its card, since no message of a thread answers another.
func summonsPart(thread chat.ThreadID, m front.Message, c card) part {
	open := ""
	if c.workspace != "" {
		open = style.Link("Open the approval", permalink(c.workspace, thread, m.Text.Summons.Card))
	}
	plain := shorten(escape(markdown.Plain(m.Text.Markdown)), mostFallback)
	text := summary.Lines(strings.Join(m.Calls, " "), markdown.Styled(m.Text.Markdown, style), open)
	return part{{blocks: []slackgo.Block{section(shorten(text, mostSection))}, text: plain}, {text: text}}
}

// askingParts writes a text that asks people something, below who is meant.
func askingParts(m front.Message, c card) []part {
	parts := answerParts(m.Text, c)
	if len(m.Calls) == 0 {
		return parts
	}
	who := strings.Join(m.Calls, " ")
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
