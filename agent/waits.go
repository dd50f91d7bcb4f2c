package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/do"
	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
)

// listWaiting answers the words `waiting` and `alerts`. The text depends on other logs, and
// may differ after a crash. So the post is found by the word that it answers.
func (d *decision) listWaiting(c *thread.Command) do.List {
	p := d.sayNotice(c.Notice(), c.Ref, c.Ref.String(), c.Seq)
	p.Post.Text.Markdown = ""
	return do.List{Who: c.From, At: c.At, Post: p, Alerts: c.Word == "alerts"}
}

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
func (a *Agent) Offers(who chat.UserID, member func(rule string) bool) []chat.Offer {
	var out []chat.Offer
	for _, t := range a.Tools {
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

// Desk is what a call may use of the thread: earlier calls, and files. The caller fills in
// the rest.
func (a *Agent) Desk(log *Log) chat.Desk {
	s := log.Thread
	desk := chat.Desk{Files: s.Held(), Eyes: s.Open.Eyes()}
	for _, t := range s.Shown(s.Trim) {
		for c := range t.EachCall() {
			if c.Result != nil {
				desk.Past = append(desk.Past, view.Call(c))
			}
		}
	}
	return desk
}
