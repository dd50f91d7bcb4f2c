package discord

import (
	"slices"
	"strings"

	"nod/chat"
)

// summonsParts writes a text that calls people to an approval, whose card it answers.
// It rings with those who may decide, unless nobody is to be mentioned.
func summonsParts(t *chat.Text, mention bool) []part {
	s := t.Summons
	parts := answerMessages(t)
	if !mention {
		return parts
	}
	var who []string
	for _, rule := range s.Approvers {
		kind, id, _ := strings.Cut(rule, ":")
		if kind == "requester" {
			id = string(s.Requester.ID)
		}
		if kind == "anyone" || kind != "role" && slices.Contains(s.Exclude, chat.UserID(id)) {
			continue
		}
		who = append(who, approver(rule, s.Requester))
	}
	first := &parts[0]
	first.content = strings.TrimSpace(list(who, 300) + "\n" + first.content)
	first.pings = deciders(&chat.Approval{Approvers: s.Approvers, Requester: s.Requester, Exclude: s.Exclude})
	first.silent = false
	return parts
}
