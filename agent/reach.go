package agent

import (
	"fmt"
	"strings"

	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
)

// summons calls those who may decide, once a clock has struck.
func (d *decision) summons() Action {
	for _, c := range d.s.PendingCalls() {
		if at := c.Clocks.Escalated; at.Seq > 0 && !d.s.Has(c.EscalationName()) {
			more := c.Asked.Rules.Escalate
			text := fmt.Sprintf("Nobody decided for %s, so `%s` may decide too.", phrase.Long(more.After), strings.Join(more.Approvers, "`, `"))
			return d.summon(c, c.EscalationName(), at, more.Approvers, text)
		}
		if at := c.Clocks.Reminded; at.Seq > 0 && !d.s.Has(c.ReminderName()) {
			return d.summon(c, c.ReminderName(), at, c.MayNow(), "It still waits for a decision.")
		}
	}
	return nil
}

func (d *decision) summon(c *thread.Call, name string, at thread.Stroke, who []string, why string) Post {
	text := fmt.Sprintf("Approval %d: `%s`, asked by %s. %s %s left.",
		c.Asked.Number, c.Tool, c.Asked.Requester.Display(), why, phrase.Long(c.Deadline().Sub(at.At)))
	p := d.notice(name, c.Card.Ref, text, at.Seq)
	view := view.Approval(d.s, c)
	p.Post.Text.Summons = &chat.Summons{Card: c.Card.Ref, Approvers: who, Requester: view.Requester, Exclude: view.Exclude, Quiet: view.Quiet}
	return p
}
