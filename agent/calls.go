package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// repeats is how many identical calls in a row run: the next one does not.
const repeats = 2

// settle gives the results of calls that are over without running: they can't
// run, may not run, or ran in a process that died.
func (d *decision) settle(last *step) []memory.Body {
	var out []memory.Body
	for _, c := range last.calls {
		if c.result != nil {
			continue
		}
		if r, ok := d.settled(c); ok {
			if c.pending() { // its tool was switched off meanwhile: nobody need decide any more
				out = append(out, memory.Decided{Call: c.ID, Outcome: chat.Cancelled, Reason: "it can't run any more"})
			}
			out = append(out, r)
		}
	}
	return out
}

func (d *decision) settled(c *call) (memory.Result, bool) {
	if c.started {
		return d.lost(c)
	}
	if c.turnedDown() {
		return refused(c), !c.explained(d.s.now)
	}
	tool, known := d.a.tool(c.Tool)
	if why := d.invalid(c, tool, known); why != "" {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: why}, true
	}
	if r, ok := d.unsteady(c); ok {
		return r, true
	}
	if c.asked == nil {
		if c.grant != nil && c.grant.Digest != d.bound(c) {
			return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "denied: this call is not the one that was allowed"}, true
		}
		return memory.Result{}, false
	}
	if c.asked.Digest != d.bound(c) || c.asked.Tool != c.Tool {
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
func (d *decision) invalid(c *call, tool Tool, known bool) string {
	orSo := " Do without it, and say so."
	if c.step.by != nil {
		orSo = ""
	}
	if slices.Index(c.step.calls, c) >= mostCalls {
		return fmt.Sprintf("not run: a step may hold %d calls", mostCalls)
	}
	if !known {
		return fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Tool, strings.Join(d.toolNames(), ", "))
	}
	if !d.entitled(tool, c.turn, c.step.Seen) {
		return textNotFor + orSo
	}
	if d.s.isOff(c.Tool) {
		return "This tool is switched off in this thread." + orSo
	}
	if c.step.Phase == memory.SolveStep && !tool.harmless() {
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
	if tool.Risk != Auto && tool.Risk != Ask {
		return "denied: this tool is switched off by the configuration." + orSo
	}
	if d.s.replaced(c) {
		return "denied: people changed these arguments earlier in this turn, and what they made of them counts."
	}
	if n := d.s.inARow(c); n > repeats && !tool.Advances {
		return fmt.Sprintf("This is the same call for the %s time in a row, so it was not run. Its result is above: use it, or try something else.", ordinal(n))
	}
	return ""
}

func (d *decision) toolNames() []string {
	names := make([]string, 0, len(d.a.Tools))
	for _, t := range d.a.Tools {
		names = append(names, t.Name)
	}
	return names
}

// inARow counts how many calls up to this one, itself included, were the same
// without another between them.
func (s *state) inARow(c *call) int {
	n, digest := 0, c.digest()
	for _, st := range c.turn.steps {
		if st.Branch != c.step.Branch {
			continue
		}
		for _, k := range st.calls {
			if k.digest() == digest {
				n++
			} else {
				n = 0
			}
			if k == c {
				return n
			}
		}
	}
	return n
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
func (d *decision) patience(c *call) (left time.Duration, ok bool) {
	if c.by == "" || c.by == d.log.claim.Self {
		return 0, false
	}
	quiet, heard := d.log.silent[c.by]
	if !heard {
		return 0, true
	}
	return c.within + silence - min(quiet, c.within+silence), true
}

// lost is the result of a call of which nothing will be heard any more, as far as
// anybody can tell.
func (d *decision) lost(c *call) (memory.Result, bool) {
	_, heard := d.log.silent[c.by]
	left, other := d.patience(c)
	gone := c.by == "" || other && heard && left <= 0
	return unknownOutcome(c.Call), gone
}

// explainWithin is how long a turn waits for a person to say why they denied.
const explainWithin = time.Minute

// explained says whether somebody who denied a call may still be writing why.
func (c *call) explained(now time.Time) bool {
	return c.button && c.turnedDown() && c.decided.Outcome == chat.Denied && c.reason() == nil && now.Before(c.ended.Add(explainWithin))
}

// reason is why the call was denied, by whom it was; what anybody else says of that
// counts for nothing.
func (c *call) reason() *memory.Reason {
	if c.decided == nil || c.decided.Outcome != chat.Denied {
		return nil
	}
	for i, r := range c.reasons {
		if slices.ContainsFunc(c.decided.By, func(u chat.User) bool { return u.ID == r.By.ID }) {
			return &c.reasons[i]
		}
	}
	return nil
}

// turnedDown says whether people, or the lapse of time, keep the call from running.
func (c *call) turnedDown() bool {
	return c.decided != nil && c.decided.Outcome != chat.Approved
}

// unsettled says whether the call waits for people or for its outcome.
func (c *call) unsettled() bool {
	return c.result == nil && (c.pending() || c.started || c.button)
}

func unknownOutcome(c memory.Call) memory.Result {
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallUnknown, Text: "outcome unknown: the program stopped while this ran. It may or may not have taken effect, and is not run again by itself. Say so, and how to find out."}
}

// refused is the result of a call that people did not approve.
func refused(c *call) memory.Result {
	r := memory.Result{Call: c.ID, Tool: c.Tool}
	switch by := chat.Names(c.decided.By); c.decided.Outcome {
	case chat.Expired:
		r.State, r.Text = chat.CallExpired, "expired: nobody approved this call in time, so it did not run."
	case chat.Cancelled:
		r.State, r.Text = chat.CallCancelled, textCancelled
	default:
		r.State, r.Text = chat.CallDenied, "denied: this call was not approved, so it did not run."
		if by != "" {
			r.Text = "denied by " + by + ", so the call did not run."
		}
		if c.decided.Reason != "" {
			r.Text = "denied: " + c.decided.Reason + ". The call did not run."
		}
		if why := c.reason(); why != nil && why.Text != "" {
			r.Reason = why.Text
			r.Text = fmt.Sprintf("denied by %s: %s (The call did not run.)", why.By.Display(), why.Text)
		}
	}
	return r
}

// TooMany is what came of a call that had to be asked for when no more could be.
const TooMany = "denied: too many approvals wait"

// asking opens approvals for the risky calls of a step, and posts them.
func (d *decision) asking(t *turn, last *step) Action {
	if open := d.anew(t, last); len(open) > 0 {
		return Open{open}
	}
	var open []memory.Asked
	var over []memory.Body
	waiting := len(d.s.pendingCalls())
	var uses []memory.Body
	more := map[int]int{}
	for _, c := range last.calls {
		tool, _ := d.a.tool(c.Tool)
		if c.result != nil || c.asked != nil || c.started || c.runsGranted(d.now()) {
			continue
		}
		risk, why := d.risk(tool, c)
		if risk == Ask && waiting+len(open) < mostOpen && d.lacksPreview(c) {
			waiting++ // before long
			continue
		}
		if act := d.givers(tool, c); act != nil && c.grant == nil {
			return act
		}
		if g := d.granted(tool, c, more); g != nil && c.grant == nil {
			more[g.Number]++
			uses = append(uses, memory.Used{Grant: g.Number, Call: c.ID, Tool: c.Tool, Digest: d.bound(c), By: g.By})
			continue
		}
		switch {
		case risk == Ask && waiting+len(open) >= mostOpen:
			over = append(over, memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDenied, Text: TooMany})
		case risk == Ask:
			asked := memory.Asked{
				Call: c.ID, Number: d.s.asks + len(open) + 1, Tool: c.Tool, Digest: d.bound(c), Requester: t.requester, Rules: tool.Rules, Why: why, Marks: d.marks(c),
				Shown: d.shownOf(tool.Rules),
			}
			if tool.Preview && tool.PreviewRequired && c.preview.Err != "" {
				return Record{d.hopeless(c, asked)}
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
	for _, c := range last.calls {
		if c.asked == nil || c.decided != nil || d.s.has(c.askName()) {
			continue
		}
		if act := d.attaching(c); act != nil {
			return act
		}
		hidden := memory.Decided{Call: c.ID, Outcome: chat.Denied, Reason: "it could not be shown to anybody here"}
		return Post{Post: d.card(c), Look: d.before(last.seq), Refused: []memory.Body{hidden}}
	}
	return nil
}

// card is the post that shows an approval as it stands.
func (s *state) card(c *call) chat.Post {
	view := s.approval(c)
	return chat.Post{Key: memory.PostKey(c.askName(), c.asked.Digest), ReplyTo: c.turn.replyTo(), Approval: &view}
}

// edits makes approval messages show how they ended.
func (d *decision) edits() Action {
	for _, c := range d.s.allCards() {
		key := d.s.stage(c, "")
		if key == "" || d.s.has(key) {
			continue
		}
		done := []memory.Body{memory.Posted{Key: key}}
		if !d.s.has(c.askName()) {
			return Post{Post: d.card(c), Look: true, Refused: done} // one that stands already is then edited
		}
		if c.ref.IsZero() {
			return Record{done}
		}
		return Edit{Ref: c.ref, Post: d.card(c), Key: key}
	}
	return nil
}

// stage names how far a card has to say what came of its call; "" while it waits.
// where is "" for the card in the thread, or else the place.
func (s *state) stage(c *call, where string) string {
	key := "outcome/" + c.nth()
	switch {
	case c.redone > 0:
		return key + "/again" + where
	case c.pending() && c.escalated.seq > 0 && !s.has(c.widened()+where):
		return c.widened() + where
	case c.pending() && len(c.changes) > 0:
		return c.redrawn() + where
	case c.decided == nil:
		return ""
	case c.late != nil:
		return key + "/corrected" + where
	case c.result != nil || c.turnedDown() && c.reason() == nil:
		return key + "/done" + where
	case c.reason() != nil:
		return key + "/why" + where
	}
	return key + "/running" + where
}

// askedCalls lists the calls with an approval, in order.
func (s *state) askedCalls() []*call {
	var out []*call
	for _, t := range s.turns {
		for _, st := range t.steps {
			for _, c := range st.calls {
				if c.asked != nil {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

func (s *state) pendingCalls() []*call {
	return slices.DeleteFunc(s.askedCalls(), func(c *call) bool { return !c.pending() })
}
