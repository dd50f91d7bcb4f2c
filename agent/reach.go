package agent

import (
	"fmt"
	"strings"
	"time"

	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// clocks notes which clocks strike.
func (d *decision) clocks() Action {
	var bodies []memory.Body
	due := func(at time.Time) bool { return !at.IsZero() && !d.s.Now.Before(at) }
	for _, c := range d.s.PendingCalls() {
		if due(c.EscalateAt()) {
			bodies = append(bodies, memory.Escalated{Call: c.ID, Approvers: c.Asked.Rules.Escalate.Approvers})
		}
		if due(c.RemindAt()) {
			bodies = append(bodies, memory.Reminded{Call: c.ID})
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

// summons calls those who may decide, once a clock has struck.
func (d *decision) summons() Action {
	for _, c := range d.s.PendingCalls() {
		if at := c.Clocks.Escalated; at.Seq > 0 && !d.s.Has(c.EscalationName()) {
			more := c.Asked.Rules.Escalate
			text := fmt.Sprintf("Nobody decided for %s, so `%s` may decide too.", long(more.After), strings.Join(more.Approvers, "`, `"))
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
		c.Asked.Number, c.Tool, c.Asked.Requester.Display(), why, long(c.Deadline().Sub(at.At)))
	p := d.notice(name, c.Card.Ref, text, at.Seq)
	view := viewApproval(d.s, c)
	p.Post.Text.Summons = &chat.Summons{Card: c.Card.Ref, Approvers: who, Requester: view.Requester, Exclude: view.Exclude, Quiet: view.Quiet}
	return p
}

// long is a duration of minutes or hours as people say it.
func long(d time.Duration) string {
	if d = max(d, 0).Truncate(time.Second); d >= time.Hour {
		text := fmt.Sprintf("%d h", int(d.Hours()))
		if min := int(d.Minutes()) % 60; min > 0 {
			text += fmt.Sprintf(" %d min", min)
		}
		return text
	}
	return strings.TrimSuffix(seconds(d), " 0 s")
}

// now is the time, as far as the log or the claim tell it.
func (d *decision) now() time.Time {
	if d.log.claim.Now.After(d.s.Now) {
		return d.log.claim.Now
	}
	return d.s.Now
}

// lapsed says whether an approval was given so long ago that it is to be asked for
// anew.
func (d *decision) lapsed(c *thread.Call) bool {
	return c.WaitsToBegin() && c.Asked.Rules.RunWithin > 0 && !d.now().Before(c.Votes.Ended.Add(c.Asked.Rules.RunWithin))
}

// anew opens approvals again that lapsed, or whose preview changed.
func (d *decision) anew(t *thread.Turn, last *thread.Step) (open []memory.Asked) {
	for _, c := range last.Calls {
		if !d.lapsed(c) {
			if d.differs(c) {
				open = append(open, d.outdated(c, d.s.Approvals.Asks+len(open)+1))
			}
			continue
		}
		tool, _ := d.a.tool(c.Tool)
		again := *c.Asked
		again.Number, again.Again = d.s.Approvals.Asks+len(open)+1, again.Again+1
		again.Requester, again.Rules, again.Shown, again.Stricter = t.Requester, tool.Rules, d.shownOf(tool.Rules), false
		again.Digest, again.Marks = d.bound(c), d.marks(c)
		open = append(open, again)
	}
	return open
}
