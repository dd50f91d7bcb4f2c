package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Waits gives the approval of a call, if it waits for this person: they may
// approve it now, by the same judge as a vote, and have not yet.
func (l *Log) Waits(call string, who chat.User, at time.Time, member Member) (chat.Waits, bool) {
	c := l.state.Calls[call]
	if c == nil || c.Asked == nil || c.Card.Ref.IsZero() {
		return chat.Waits{}, false
	}
	did := slices.ContainsFunc(c.Standing(), func(v memory.Vote) bool { return v.By.ID == who.ID })
	now := memory.Vote{Reaction: l.state.Last, By: who, Verdict: memory.Approve}
	if did || whyIgnored(l.state, c, now, chat.Reaction{On: c.Card.Ref}, at, member) != "" {
		return chat.Waits{}, false
	}
	return chat.Waits{Ref: c.Card.Ref, Number: c.Asked.Number, Tool: c.Tool, Requester: c.Asked.Requester, Deadline: c.Deadline()}, true
}

// list answers the word `waiting`. What it says depends on other threads, so the
// post is told by what it answers: looked for after a crash it may show something
// else than would be said now.
func (d *decision) list(c *thread.Command) List {
	p := d.notice(c.Notice(), c.Ref, c.Ref.String(), c.Seq)
	p.Post.Text.Markdown = ""
	return List{Who: c.From, At: c.At, Post: p}
}

// Listed is what a person is told of the approvals that wait for them, when others
// read it too: those of this thread, and how many there are elsewhere.
func (l List) Listed(here chat.ThreadID, h chat.Home, link func(chat.ThreadID, chat.MessageRef) string) chat.Text {
	var own []chat.Waits
	for _, w := range h.Waiting {
		if w.Thread == here {
			own = append(own, w)
		}
	}
	t := chat.Text{Notice: true, Markdown: l.lines(own, link), Alone: l.lines(h.Waiting, link)}
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
	return t
}

func (l List) lines(waits []chat.Waits, link func(chat.ThreadID, chat.MessageRef) string) string {
	if len(waits) == 0 {
		return "No approval waits for you here."
	}
	text := fmt.Sprintf("%d approvals wait for you:\n", len(waits))
	if len(waits) == 1 {
		text = "One approval waits for you:\n"
	}
	for _, w := range waits {
		text += fmt.Sprintf("\n- Approval %d: `%s`, asked by %s, %s left", w.Number, w.Tool, w.Requester.Display(), seconds(w.Deadline.Sub(l.At)))
		if link == nil {
			continue
		}
		if at := link(w.Thread, w.Ref); at != "" {
			text += ": [open](" + at + ")"
		}
	}
	return text
}

// Offers lists the tools for people.
func (a *Agent) Offers() []chat.Offer {
	var out []chat.Offer
	for _, t := range a.Tools {
		o := chat.Offer{Name: t.Name, About: firstSentence(t.Description), Risk: "switched off"}
		switch t.Risk {
		case Auto:
			o.Risk = "runs by itself"
		case Ask:
			o.Risk = "asks for approval: " + strings.Join(t.Rules.Approvers, ", ")
		}
		out = append(out, o)
	}
	return out
}
