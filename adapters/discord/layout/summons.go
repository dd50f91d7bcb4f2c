package layout

import (
	"strings"

	"nod/chat"
	"nod/chat/markdown"
	"nod/front"
)

// SummonsParts writes a text that calls people to an approval, whose card it answers,
// or to a question that it asks them.
// It rings with those who may decide, unless nobody is to be mentioned.
func SummonsParts(m front.Message) []Part {
	s := m.Text.Summons
	if s.Quiet {
		return AnswerMessages(m.Text)
	}
	head := front.List(m.Calls, 300) + "\n"
	parts := messages(m.Text, MostContent-markdown.UTF16(head))
	first := &parts[0]
	first.Content = strings.TrimSpace(head + first.Content)
	first.Pings = Deciders(&chat.Approval{Approvers: s.Approvers, Requester: s.Requester, Exclude: s.Exclude})
	first.Silent = false
	return parts
}
