package words

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/do"
	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/chat"
)

// Listed tells a person which approvals wait for them, where others read it too: those of
// this thread, and a number for the rest.
func Listed(l do.List, here chat.ThreadID, h chat.Home, link func(chat.ThreadID, chat.MessageRef) string) chat.Text {
	var own []chat.Waits
	for _, w := range h.Waiting {
		if w.Thread == here {
			own = append(own, w)
		}
	}
	t := chat.Text{Notice: true, Markdown: waitLines(l, own, link), Alone: waitLines(l, h.Waiting, link)}
	if h.Further > 0 {
		t.Alone += fmt.Sprintf("\nand %d more", h.Further)
	}
	switch n := len(h.Waiting) + h.Further - len(own); {
	case n == 0:
		t.Alone = ""
	case n == 1:
		t.Markdown += "\n\nOne more waits for you elsewhere. Ask me where nobody else reads it."
	default:
		t.Markdown += fmt.Sprintf("\n\n%d more wait for you elsewhere. Ask me where nobody else reads it.", n)
	}
	if rest := h.Rest(); rest != "" {
		t.Markdown += "\n\n" + rest
		if t.Alone != "" {
			t.Alone += "\n\n" + rest
		}
	}
	return t
}

// waitLines lists approvals, a line each.
func waitLines(l do.List, waits []chat.Waits, link func(chat.ThreadID, chat.MessageRef) string) string {
	if len(waits) == 0 {
		return "No approval waits for you here."
	}
	text := fmt.Sprintf("%d approvals wait for you:\n", len(waits))
	if len(waits) == 1 {
		text = "One approval waits for you:\n"
	}
	for _, w := range waits {
		text += fmt.Sprintf("\n- Approval %d: `%s`, asked by %s, %s left", w.Number, w.Tool, phrase.Name(w.Requester), phrase.Seconds(w.Deadline.Sub(l.At)))
		if link == nil {
			continue
		}
		if at := link(w.Thread, w.Ref); at != "" {
			text += ": [open](" + at + ")"
		}
	}
	return text
}

// Offers lists the tools for a person. member says whether they are in a group or role.
func Offers(tools policy.Set, who chat.UserID, member func(rule string) bool) []chat.Offer {
	var out []chat.Offer
	for _, t := range tools {
		if !t.IsFor(who, slices.DeleteFunc(slices.Clone(t.For), func(rule string) bool { return !member(rule) })) {
			continue
		}
		o := chat.Offer{Name: t.Name, About: phrase.FirstSentence(t.Description), Risk: "switched off"}
		switch t.Risk {
		case policy.Auto:
			o.Risk = "runs by itself"
		case policy.Ask:
			o.Risk = "asks for approval: " + strings.Join(t.Rules.Approvers, ", ")
		}
		out = append(out, o)
	}
	return out
}
