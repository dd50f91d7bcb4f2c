package agent

import (
	"slices"

	"nod/chat"
	"nod/memory"
)

// The rules under which an approval was asked are those that decide it: whoever
// looks at the card sees them. But whoever makes the file stricter means what
// waits, too: that is asked anew.

// mostStricter is how often a call is asked anew since the rules are others. Two
// processes with different files would go on for ever.
const mostStricter = 4

const textRulesChange = "the rules of who may approve it keep changing"

// tightened opens approvals again that wait, or were given, under rules that are
// too lax by now.
func (d *decision) tightened() Action {
	t := d.s.Open
	if t == nil || t.Stopped != nil || t.Failed != nil || len(t.Steps) == 0 {
		return nil
	}
	last := t.LastStep()
	var bodies []memory.Body
	more := 0
	for _, c := range last.Calls {
		tool, _ := d.a.tool(c.Tool)
		if !c.Pending() && !c.WaitsToBegin() || tool.Risk != Ask || !stricter(tool.Rules, c.Asked.Rules) {
			continue
		}
		if c.Asked.Again >= mostStricter {
			if c.Pending() {
				bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: textRulesChange})
			} else {
				bodies = append(bodies, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied, Text: "denied: " + textRulesChange})
			}
			continue
		}
		if c.Pending() {
			bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Cancelled, Reason: "the rules became stricter"})
		}
		more++
		again := *c.Asked
		again.Number, again.Again, again.Stricter, again.Changed = d.s.Approvals.Asks+more, again.Again+1, true, false
		again.Requester, again.Rules, again.Shown = t.Requester, tool.Rules, d.shownOf(tool.Rules)
		bodies = append(bodies, again)
	}
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

// stricter says whether rules keep from deciding whom others let decide.
func stricter(now, then memory.Rules) bool {
	return max(1, now.Quorum) > max(1, then.Quorum) ||
		now.ExcludeRequester && !then.ExcludeRequester || now.ExcludeThread && !then.ExcludeThread ||
		!covers(now.Approvers, then.Approvers) || !covers(now.AllApprovers(), then.AllApprovers())
}

// covers says whether all whom some rules name are named by others.
func covers(now, then []string) bool {
	return slices.Contains(now, chat.Anyone) || !slices.ContainsFunc(then, func(rule string) bool { return !slices.Contains(now, rule) })
}

// shownOf lists whose words the model is shown, where rules keep all of them from
// approving: a person can put an order into one turn, and have somebody else set it
// off in the next.
func (d *decision) shownOf(rules memory.Rules) (out []chat.UserID) {
	if !rules.ExcludeThread {
		return nil
	}
	add := func(who chat.UserID) {
		if who != "" && !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	cut := d.s.Trim
	if cut.Summary != "" || d.s.Recalled { // anybody's words may be in it
		for who := range d.s.Folk.People {
			add(who)
		}
	}
	for _, t := range d.s.Shown(cut) {
		add(t.Requester.ID)
		for _, u := range t.Voices {
			add(u.ID)
		}
		for _, m := range t.Live() {
			add(m.From.ID)
			for _, q := range m.Quoted {
				add(q.From.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}
