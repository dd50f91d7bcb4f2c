package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/approval"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// repeats is how many identical calls in a row run: the next one does not.
const repeats = 2

// settle gives the results of calls that are over without running: they can't
// run, may not run, or ran in a process that died.
func (d *decision) settle(last *thread.Step) []memory.Body {
	var out []memory.Body
	for _, c := range last.Calls {
		if c.Result != nil {
			continue
		}
		if r, ok := d.settled(c); ok {
			if c.Pending() { // its tool was switched off meanwhile: nobody need decide any more
				out = append(out, memory.Decided{Call: c.ID, Outcome: chat.Cancelled, Reason: "it can't run any more"})
			}
			out = append(out, r)
		}
	}
	return out
}

func (d *decision) settled(c *thread.Call) (memory.Result, bool) {
	if c.Started {
		return d.lost(c)
	}
	if c.TurnedDown() {
		return refused(c), !c.Explained(d.s.Now)
	}
	tool, known := d.a.Tools.Find(c.Tool)
	if why := d.invalid(c, tool, known); why != "" {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: why}, true
	}
	if r, ok := d.approval().Unsteady(c); ok {
		return r, true
	}
	if c.Asked == nil {
		if c.Use.Grant != nil && c.Use.Grant.Digest != d.approval().Bound(c) {
			return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "denied: this call is not the one that was allowed"}, true
		}
		return memory.Result{}, false
	}
	if c.Asked.Digest != d.approval().Bound(c) || c.Asked.Tool != c.Tool {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "denied: this call is not the one that was shown to the approvers"}, true
	}
	return memory.Result{}, false
}

// Bounds of what one completion can bring about. What is beyond mostCalls is told
// so, and what is beyond mostRead is not even read.
const (
	mostCalls = 16
	mostRead  = 64
	mostOpen  = 16 // approvals that wait in a thread
)

// invalid says, in words for the model, why a call can't run; "" when it can.
func (d *decision) invalid(c *thread.Call, tool policy.Tool, known bool) string {
	orSo := " Do without it, and say so."
	if c.Step.By != nil {
		orSo = ""
	}
	if slices.Index(c.Step.Calls, c) >= mostCalls {
		return fmt.Sprintf("not run: a step may hold %d calls", mostCalls)
	}
	if !known {
		return fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Tool, strings.Join(d.a.Tools.Names(), ", "))
	}
	if !tool.Entitled(c.Turn, c.Step.Seen) {
		return textNotFor + orSo
	}
	if d.s.IsOff(c.Tool) {
		return "This tool is switched off in this thread." + orSo
	}
	if c.Step.Phase == memory.SolveStep && !tool.Harmless() {
		return "In a draft only tools that change nothing may be used. Say in the draft what should be done with " + c.Tool + "."
	}
	if !c.Object {
		return "The call did not run: " + notOne(c.Args)
	}
	if tool.Schema != nil {
		if bad := tool.Schema.Check([]byte(c.Args)); len(bad) > 0 {
			return "The call did not run, since the arguments don't fit the tool's parameters:\n- " + strings.Join(bad, "\n- ")
		}
	}
	if tool.Risk != policy.Auto && tool.Risk != policy.Ask {
		return "denied: this tool is switched off by the configuration." + orSo
	}
	if d.s.Replaced(c) {
		return "denied: people changed these arguments earlier in this turn, and what they made of them counts."
	}
	if n := d.s.InARow(c); n > repeats && !tool.Advances {
		return fmt.Sprintf("This is the same call for the %s time in a row, so it was not run. Its result is above: use it, or try something else.", ordinal(n))
	}
	return ""
}

func ordinal(n int) string {
	if n == 3 {
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}

// silence is how much longer than a call may take nothing must have been heard
// of the process that runs it before its outcome is called unknown.
const silence = 10 * time.Second

// patience is how long the process that runs a call may still say nothing; ok is
// false when it need not be looked at.
func (d *decision) patience(c *thread.Call) (left time.Duration, ok bool) {
	if c.Run.By == "" || c.Run.By == d.log.claim.Self {
		return 0, false
	}
	quiet, heard := d.log.silent[c.Run.By]
	if !heard {
		return 0, true
	}
	return c.Run.Within + silence - min(quiet, c.Run.Within+silence), true
}

// lost is the result of a call of which nothing will be heard any more, as far as
// anybody can tell.
func (d *decision) lost(c *thread.Call) (memory.Result, bool) {
	_, heard := d.log.silent[c.Run.By]
	left, other := d.patience(c)
	gone := c.Run.By == "" || other && heard && left <= 0
	return unknownOutcome(c.Call), gone
}

func unknownOutcome(c memory.Call) memory.Result {
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallUnknown, Text: "outcome unknown: the program stopped while this ran. It may or may not have taken effect, and is not run again by itself. Say so, and how to find out."}
}

// refused is the result of a call that people did not approve.
func refused(c *thread.Call) memory.Result {
	r := memory.Result{Call: c.ID, Tool: c.Tool}
	switch by := chat.Names(c.Decided.By); c.Decided.Outcome {
	case chat.Expired:
		r.State, r.Text = chat.CallExpired, "expired: nobody approved this call in time, so it did not run."
	case chat.Cancelled:
		r.State, r.Text = chat.CallCancelled, textCancelled
	default:
		r.State, r.Text = chat.CallDenied, "denied: this call was not approved, so it did not run."
		if by != "" {
			r.Text = "denied by " + by + ", so the call did not run."
		}
		if c.Decided.Reason != "" {
			r.Text = "denied: " + c.Decided.Reason + ". The call did not run."
		}
		if why := c.Reason(); why != nil && why.Text != "" {
			r.Reason = why.Text
			r.Text = fmt.Sprintf("denied by %s: %s (The call did not run.)", why.By.Display(), why.Text)
		}
	}
	return r
}

// TooMany is what came of a call that had to be asked for when no more could be.
const TooMany = "denied: too many approvals wait"

// asking opens approvals for the risky calls of a step, and posts them.
func (d *decision) asking(t *thread.Turn, last *thread.Step) Action {
	if open := d.approval().Anew(t, last); len(open) > 0 {
		return Open{open}
	}
	var open []memory.Asked
	var over []memory.Body
	waiting := len(d.s.PendingCalls())
	var uses []memory.Body
	more := map[int]int{}
	for _, c := range last.Calls {
		tool, _ := d.a.Tools.Find(c.Tool)
		if c.Result != nil || c.Asked != nil || c.Started || c.RunsGranted(d.approval().Now()) {
			continue
		}
		risk, why := d.taint().Risk(tool, c)
		if risk == policy.Ask && waiting+len(open) < mostOpen && d.approval().LacksPreview(c) {
			waiting++ // before long
			continue
		}
		if who, groups := d.approval().Givers(tool, c); len(who) > 0 {
			return Identify{Call: c.ID, Turn: c.Turn.ID, Who: who, Rules: groups}
		}
		if g := d.approval().Granted(tool, c, more); g != nil && c.Use.Grant == nil {
			more[g.Number]++
			uses = append(uses, memory.Used{Grant: g.Number, Call: c.ID, Tool: c.Tool, Digest: d.approval().Bound(c), By: g.By})
			continue
		}
		switch {
		case risk == policy.Ask && waiting+len(open) >= mostOpen:
			over = append(over, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied, Text: TooMany})
		case risk == policy.Ask:
			asked := memory.Asked{
				Call: c.ID, Number: d.s.Approvals.Asks + len(open) + 1, Tool: c.Tool, Digest: d.approval().Bound(c), Requester: t.Requester, Rules: tool.Rules, Why: why, Marks: d.taint().Marks(c),
				Shown: d.approval().ShownOf(tool.Rules),
			}
			if tool.Preview && tool.PreviewRequired && c.Preview.Bound.Err != "" {
				return Record{approval.Hopeless(c, asked)}
			}
			open = append(open, asked)
		}
	}
	if len(over) > 0 {
		return Record{over}
	}
	if len(uses) > 0 {
		return Record{uses}
	}
	if len(open) > 0 {
		return Open{open}
	}
	for _, c := range last.Calls {
		if c.Asked == nil || c.Decided != nil || d.s.Has(c.AskName()) {
			continue
		}
		if act := d.attaching(c); act != nil {
			return act
		}
		hidden := memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: "it could not be shown to anybody here"}
		return Post{Post: view.Card(d.taint(), c), Look: d.before(last.Seq), Refused: []memory.Body{hidden}}
	}
	return nil
}

// edits makes approval messages show how they ended.
func (d *decision) edits() Action {
	for _, c := range d.s.AllCards() {
		key := view.Stage(d.s, c, "")
		if key == "" || d.s.Has(key) {
			continue
		}
		done := []memory.Body{memory.Posted{Key: key}}
		if !d.s.Has(c.AskName()) {
			return Post{Post: view.Card(d.taint(), c), Look: true, Refused: done} // one that stands already is then edited
		}
		if c.Card.Ref.IsZero() {
			return Record{done}
		}
		return Edit{Ref: c.Card.Ref, Post: view.Card(d.taint(), c), Key: key}
	}
	return nil
}
