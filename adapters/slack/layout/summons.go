package layout

import (
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// SummonsPart writes a text that calls people to an approval: who is meant, what
// about, and a link to its card, since no message of a thread answers another.
func SummonsPart(m front.Message, c Card) Part {
	open := ""
	if c.Workspace != "" {
		open = style.Link("Open the approval", Permalink(c.Workspace, c.Thread, m.Text.Summons.Card))
	}
	plain := Shorten(Escape(markdown.Plain(m.Text.Markdown)), MostFallback)
	text := summary.Lines(strings.Join(m.Calls, " "), markdown.Styled(m.Text.Markdown, style), open)
	return Part{{Blocks: []slackgo.Block{Section(Shorten(text, MostSection))}, Text: plain}, {Text: text}}
}

// AskingParts writes a text that asks people something, below who is meant.
func AskingParts(m front.Message, c Card) []Part {
	parts := AnswerParts(m.Text, c)
	if len(m.Calls) == 0 {
		return parts
	}
	who := strings.Join(m.Calls, " ")
	for i, f := range parts[0] {
		switch {
		case len(f.Blocks) > 0:
			parts[0][i].Blocks = append([]slackgo.Block{Section(who)}, f.Blocks...)
		case !f.Plain:
			parts[0][i].Text = who + "\n" + f.Text
		}
	}
	return parts
}
