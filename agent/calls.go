package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/chat"
	"nod/llm/args"
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
			out = append(out, r)
		}
	}
	return out
}

func (d *decision) settled(c *call) (memory.Result, bool) {
	if c.started {
		return unknownOutcome(c), true
	}
	if c.decided != nil && c.decided.Outcome != chat.Approved {
		return refused(c), true
	}
	tool, known := d.a.tool(c.Tool)
	if why := d.invalid(c, tool, known); why != "" {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: why}, true
	}
	if c.asked == nil {
		return memory.Result{}, false
	}
	if c.asked.Digest != c.digest() || c.asked.Tool != c.Tool {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "denied: this call is not the one that was shown to the approvers"}, true
	}
	return memory.Result{}, false
}

// invalid says, in words for the model, why a call can't run; "" when it can.
func (d *decision) invalid(c *call, tool Tool, known bool) string {
	if !known {
		return fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Tool, strings.Join(d.toolNames(), ", "))
	}
	if d.s.isOff(c.Tool) {
		return "This tool is switched off in this thread. Do without it, and say so."
	}
	if c.step.Phase == memory.SolveStep && !tool.harmless() {
		return "In a draft only tools that change nothing may be used. Say in the draft what should be done with " + c.Tool + "."
	}
	if !c.Object {
		_, err := args.Native(c.Args)
		return fmt.Sprintf("The call did not run: %v", err)
	}
	if tool.Schema != nil {
		if bad := tool.Schema.Check([]byte(c.Args)); len(bad) > 0 {
			return "The call did not run, since the arguments don't fit the tool's parameters:\n- " + strings.Join(bad, "\n- ")
		}
	}
	if tool.Risk != Auto && tool.Risk != Ask {
		return "denied: this tool is switched off by the configuration. Do without it, and say so."
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

func unknownOutcome(c *call) memory.Result {
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallUnknown, Text: "outcome unknown: the program stopped while this ran. It may or may not have taken effect, and is not run again by itself. Say so, and how to find out."}
}

// refused is the result of a call that people did not approve.
func refused(c *call) memory.Result {
	r := memory.Result{Call: c.ID, Tool: c.Tool}
	switch by := names(c.decided.By); c.decided.Outcome {
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
	}
	return r
}

// asking opens approvals for the risky calls of a step, and posts them.
func (d *decision) asking(t *turn, last *step) Action {
	var open []memory.Asked
	for _, c := range last.calls {
		tool, _ := d.a.tool(c.Tool)
		if c.result != nil || c.asked != nil {
			continue
		}
		if risk, why := d.risk(tool, c); risk == Ask {
			open = append(open, memory.Asked{
				Call: c.ID, Tool: c.Tool, Digest: c.digest(), Requester: t.requester, Rules: tool.Rules, Why: why,
			})
		}
	}
	if len(open) > 0 {
		return Open{open}
	}
	for _, c := range last.calls {
		key := memory.AskKey(c.ID)
		if c.asked == nil || c.decided != nil || d.s.has(key) {
			continue
		}
		view := d.s.approval(c)
		p := chat.Post{Key: key, ReplyTo: t.replyTo(), Approval: &view}
		return Post{Post: p, Look: d.before(last.seq)}
	}
	return nil
}

// edits makes approval messages show how they ended.
func (d *decision) edits() Action {
	for _, c := range d.s.askedCalls() {
		key := memory.OutcomeKey(c.ID)
		if c.decided == nil || d.s.has(key) {
			continue
		}
		view := d.s.approval(c)
		p := chat.Post{Key: memory.AskKey(c.ID), ReplyTo: c.turn.replyTo(), Approval: &view}
		done := []memory.Body{memory.Posted{Key: key}}
		if !d.s.has(memory.AskKey(c.ID)) {
			return Post{Post: p, Look: true, Then: done}
		}
		if c.ref.IsZero() {
			return Record{done}
		}
		return Edit{Ref: c.ref, Post: p, Key: key}
	}
	return nil
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

func names(users []chat.User) string {
	var out []string
	for _, u := range users {
		out = append(out, u.Display())
	}
	return strings.Join(out, ", ")
}
