package approval

import (
	"slices"

	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// The rules of an approval are those that it was opened with, since people see them on the
// card. But an operator who makes the file stricter means waiting calls too: these are
// asked for again. So is a call whose tool is another by now.

// mostStricter is how often a call is asked again since the file changed. Two processes
// with different files would go on for ever.
const mostStricter = 4

const (
	textStricter  = "the rules became stricter"
	textRedefined = "the tool changed"
	textKeeps     = "the rules of who may approve it, or its tool, keep changing"
)

// Tightened opens approvals again whose rules are too lax by now, or whose tool changed.
func (k Case) Tightened() (bodies []memory.Body) {
	t := k.Thread.Open
	if t == nil || t.Stopped != nil || t.Failed != nil || len(t.Steps) == 0 {
		return nil
	}
	last := t.LastStep()
	more := 0
	for _, c := range last.Calls {
		tool, _ := k.Tools.Find(c.Tool)
		redefined := c.Open() && c.Asked.Digest != k.Bound(c)
		tightened := c.Open() && tool.Risk == policy.Ask && stricter(tool.RulesIn(t, k.Schedules), c.Asked.Rules)
		if !redefined && !tightened || !k.valid(c) {
			continue
		}
		if c.Asked.Again >= mostStricter {
			if c.Pending() {
				bodies = append(bodies, memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: textKeeps})
			} else {
				bodies = append(bodies, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied, Text: "denied: " + textKeeps})
			}
			continue
		}
		why := textStricter
		if redefined {
			why = textRedefined
		}
		more++
		again := k.renewed(t, c, more)
		again.Stricter, again.Redefined = !redefined, redefined
		bodies = append(append(bodies, cancelled(c, why)...), again)
	}
	return bodies
}

// renewed is the approval of a call as it is opened again, by the file as it is now. It is
// the nth that is opened at once.
func (k Case) renewed(t *thread.Turn, c *thread.Call, nth int) memory.Asked {
	tool, _ := k.Tools.Find(c.Tool)
	again := *c.Asked
	again.Number, again.Again = k.Thread.Approvals.Asks+nth, again.Again+1
	again.Requester, again.Rules, again.Shown = t.Requester, tool.RulesIn(t, k.Schedules), k.shownOf(tool.Rules)
	again.Digest, again.Defined, again.Marks = k.Bound(c), k.defined(c.Tool), k.Taint.Marks(c)
	again.Stricter, again.Restored, again.Redefined, again.Changed = false, false, false, false
	return again
}

// stricter says whether new rules keep somebody from deciding whom older rules let decide.
func stricter(now, then memory.Rules) bool {
	return max(1, now.Quorum) > max(1, then.Quorum) ||
		stricterWays(now.By, then.By) ||
		now.ExcludeRequester && !then.ExcludeRequester || now.ExcludeThread && !then.ExcludeThread ||
		!covers(now.Approvers, then.Approvers) || !covers(now.AllApprovers(), then.AllApprovers())
}

// stricterWays says whether a way approved that does not any more.
func stricterWays(now, then []chat.Way) bool {
	return slices.ContainsFunc(everyWay, func(w chat.Way) bool { return w.Approves(then) && !w.Approves(now) })
}

var everyWay = []chat.Way{chat.ByReaction, chat.ByButton, chat.ByWord}

func covers(now, then []string) bool {
	return slices.Contains(now, chat.Anyone) || !slices.ContainsFunc(then, func(rule string) bool { return !slices.Contains(now, rule) })
}

// shownOf lists the people whose words the model is shown, where the rules keep all of
// them from approving. A person can put an order into one turn, and have another person
// set it off in the next.
func (k Case) shownOf(rules memory.Rules) (out []chat.UserID) {
	if !rules.ExcludeThread {
		return nil
	}
	add := func(who chat.UserID) {
		if who != "" && !slices.Contains(out, who) {
			out = append(out, who)
		}
	}
	cut := k.Thread.Trim
	if cut.Summary != "" || k.Thread.Recalled { // anybody's words may be in it
		for who := range k.Thread.Folk.People {
			add(who)
		}
	}
	for _, t := range k.Thread.Shown(cut) {
		add(t.Requester.ID)
		for _, u := range t.Voices {
			add(u.ID)
		}
		for _, m := range t.Live() {
			add(m.From.ID)
			for _, q := range m.FromOthers() {
				add(q.From.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Lapsed says whether an approval is too old to begin the call, so that it is asked for
// again.
func (k Case) Lapsed(c *thread.Call) bool {
	return c.WaitsToBegin() && c.Asked.Rules.RunWithin > 0 && !k.Now().Before(c.Votes.Ended.Add(c.Asked.Rules.RunWithin))
}

// anew opens approvals again that lapsed, or whose preview changed.
func (k Case) anew(t *thread.Turn, last *thread.Step) (open []memory.Asked) {
	for _, c := range last.Calls {
		if !k.Lapsed(c) {
			if k.Differs(c) {
				open = append(open, k.outdated(c, k.Thread.Approvals.Asks+len(open)+1))
			}
			continue
		}
		open = append(open, k.renewed(t, c, len(open)+1))
	}
	return open
}
