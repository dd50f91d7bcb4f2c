package discord

import (
	"fmt"

	"nod/chat"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// otherwise is how a message shows a post that can't be shown as it was to be: one
// that was made without a card never gets one, and a card stays one, whatever people
// made of the arguments.
func otherwise(was part, m front.Message) (part, bool) {
	switch {
	case was.plain != nil:
		return was.withoutCard(), true
	case m.Approval == nil || len(was.card) > 0:
		return part{}, false
	}
	long := m.Approval
	note := fmt.Sprintf("That is only the beginning. The arguments are %s long, sha256 `%s`.", summary.Count(markdown.UTF16(long.Args), "character"), chat.Sum(chat.Exact(long.Args)))
	out := part{line: was.line, accent: waitingColour, buttons: was.buttons, pings: was.pings}
	for _, text := range []string{headline(m.Card), subline(long, m.Card), fence("json", shorten(exact(long.Args), mostOnCard-400)), note, belowArgs(long, m.Card)} {
		if text != "" {
			out.card = append(out.card, text)
		}
	}
	return out, true
}

// redrawn is how a message is drawn that is drawn already, as far as this process
// knows how.
func redrawn(m front.Message, now part) part {
	if m.Was != nil && len(now.card) == 0 && markdown.UTF16(exact(m.Was.Args)) <= mostOnCard {
		now, _ = otherwise(now, m)
	}
	return now
}
