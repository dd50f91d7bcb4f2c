package approval

import (
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// TooMany is the result of a call that had to be asked for when no more could be.
const TooMany = "denied: too many approvals wait"

// mostOpen is how many approvals may wait in a thread.
const mostOpen = 16

// Wanted is the next thing that the calls of a step need before they run: one of the
// fields, or none.
type Wanted struct {
	Open    []memory.Asked // approvals to open
	Entries []memory.Body  // uses of grants, or results of calls that can't be asked for

	Call   *thread.Call  // may use a grant
	Who    []chat.UserID // gave it
	Groups []string      // rules that say in which groups they are to be
}

// Want says what the calls of a step need before they run.
func (k Case) Want(t *thread.Turn, last *thread.Step) Wanted {
	if open := k.anew(t, last); len(open) > 0 {
		return Wanted{Open: open}
	}
	var open []memory.Asked
	var over, uses []memory.Body
	waiting := len(k.Thread.PendingCalls())
	more := map[int]int{}
	for _, c := range last.Calls {
		tool, _ := k.Tools.Find(c.Tool)
		if c.Result != nil || c.Asked != nil || c.Started || c.RunsGranted(k.Now()) {
			continue
		}
		risk, why := k.Taint.Risk(tool, c)
		if risk == policy.Ask && waiting+len(open) < mostOpen && k.LacksPreview(c) {
			waiting++ // before long
			continue
		}
		if who, groups := k.givers(tool, c); len(who) > 0 {
			return Wanted{Call: c, Who: who, Groups: groups}
		}
		if g := k.granted(tool, c, more); g != nil && c.Use.Grant == nil {
			more[g.Number]++
			uses = append(uses, memory.Used{Grant: g.Number, Call: c.ID, Tool: c.Tool, Digest: k.Bound(c), By: g.By})
			continue
		}
		switch {
		case risk == policy.Ask && waiting+len(open) >= mostOpen:
			over = append(over, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied, Text: TooMany})
		case risk == policy.Ask:
			asked := k.ask(c, tool, k.Thread.Approvals.Asks+len(open)+1)
			asked.Why = why
			if tool.Preview && tool.PreviewRequired && c.Preview.Bound.Err != "" {
				return Wanted{Entries: []memory.Body{asked, memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: textNoPreview(c.Preview.Bound)}}}
			}
			open = append(open, asked)
		}
	}
	if len(over) > 0 {
		return Wanted{Entries: over}
	}
	if len(uses) > 0 {
		return Wanted{Entries: uses}
	}
	return Wanted{Open: open}
}

// ask is the approval of a call, as it is opened.
func (k Case) ask(c *thread.Call, tool policy.Tool, number int) memory.Asked {
	a := memory.Asked{
		Call: c.ID, Number: number, Tool: c.Tool, Digest: k.Bound(c), Defined: k.defined(c.Tool), Requester: c.Turn.Requester, Rules: tool.RulesIn(c.Turn, k.Schedules),
		Marks: k.Taint.Marks(c), Shown: k.shownOf(tool.Rules),
	}
	if c.Tool == thread.ScheduleTool {
		a.Zone = k.Zone(c.Turn.Requester)
	}
	return a
}
