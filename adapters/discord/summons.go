package discord

import (
	"slices"
	"strings"

	"nod/chat"
	"nod/chat/markdown"
	"nod/front"
)

// summonsParts writes a text that calls people to an approval, whose card it answers,
// or to a question that it asks them.
// It rings with those who may decide, unless nobody is to be mentioned.
func summonsParts(t *chat.Text, mention bool) []part {
	s := t.Summons
	if !mention {
		return answerMessages(t)
	}
	var who []string
	for _, rule := range s.Approvers {
		kind, id, _ := strings.Cut(rule, ":")
		if kind == chat.Requester {
			id = string(s.Requester.ID)
		}
		if kind == chat.Anyone || kind != "role" && slices.Contains(s.Exclude, chat.UserID(id)) {
			continue
		}
		who = append(who, approver(rule, s.Requester))
	}
	head := front.List(who, 300) + "\n"
	parts := messages(t, mostContent-markdown.UTF16(head))
	first := &parts[0]
	first.content = strings.TrimSpace(head + first.content)
	first.pings = deciders(&chat.Approval{Approvers: s.Approvers, Requester: s.Requester, Exclude: s.Exclude})
	first.silent = false
	return parts
}
