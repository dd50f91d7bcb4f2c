package discord

import (
	"strings"

	"nod/chat"
	"nod/chat/markdown"
	"nod/front"
)

// summonsParts writes a text that calls people to an approval, whose card it answers,
// or to a question that it asks them.
// It rings with those who may decide, unless nobody is to be mentioned.
func summonsParts(m front.Message) []part {
	s := m.Text.Summons
	if s.Quiet {
		return answerMessages(m.Text)
	}
	head := front.List(m.Calls, 300) + "\n"
	parts := messages(m.Text, mostContent-markdown.UTF16(head))
	first := &parts[0]
	first.content = strings.TrimSpace(head + first.content)
	first.pings = deciders(&chat.Approval{Approvers: s.Approvers, Requester: s.Requester, Exclude: s.Exclude})
	first.silent = false
	return parts
}
