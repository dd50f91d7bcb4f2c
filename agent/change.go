package agent

import (
	"slices"

	"nod/agent/approval"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/memory"
)

// changing looks at the next change that somebody asked for.
func (d *decision) changing() Action {
	if len(d.s.Approvals.Proposals) == 0 {
		return nil
	}
	p := d.s.Approvals.Proposals[0]
	if act := d.previewingChange(p); act != nil {
		return act
	}
	rules := slices.DeleteFunc(slices.Clone(p.Call.ApproversAt(d.s.Now)), func(rule string) bool { return !policy.IsGroup(rule) })
	if !p.Call.Pending() || p.By.Bot {
		rules = nil
	}
	act := Change{Seq: p.Seq, By: p.By, Rules: rules}
	if p.Form {
		act.On = p.Call.Card.Ref
	}
	return act
}

// Changed says what comes of a change. Whatever is in doubt is refused.
func (a *Agent) Changed(log *Log, act Change, member approval.Member) (b memory.Changed, ok bool) {
	proposals := log.Thread.Approvals.Proposals
	i := slices.IndexFunc(proposals, func(p thread.Proposal) bool { return p.Seq == act.Seq })
	if i < 0 {
		return memory.Changed{}, false
	}
	return a.on(log).approval().Changed(proposals[i], member), true
}

// changeReply answers whoever asked for a change by word.
func (d *decision) changeReply(c *thread.Command) string {
	b, ok := d.s.Approvals.Answers[c.Seq]
	switch {
	case !ok:
		return ""
	case b.Refused != "":
		return NotChanged(b.Refused)
	case d.s.Calls[b.Call] != nil && d.s.Calls[b.Call].Card.Hidden:
		return textHidden
	}
	return "Changed. All votes so far are void: the card shows what would run now."
}
