package approval

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/phrase"
	"nod/agent/policy"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// repeats is how many identical calls in a row run.
const repeats = 2

// Settle gives the results of calls that end without running: they can't run, may not run,
// or ran in a process that died.
func (k Case) Settle(last *thread.Step) []memory.Body {
	var out []memory.Body
	for _, c := range last.Calls {
		if c.Result != nil {
			continue
		}
		if r, ok := k.settled(c); ok {
			out = append(append(out, cancelled(c, "it can't run any more")...), r) // its tool may be off: nobody need decide
		}
	}
	return out
}

// settled is the result of such a call; ok is false for any other.
func (k Case) settled(c *thread.Call) (memory.Result, bool) {
	if c.Started {
		return k.Lost(c)
	}
	if c.TurnedDown() {
		return refused(c), !c.Explained(k.Thread.Now)
	}
	tool, known := k.Tools.Find(c.Tool)
	if !known && k.Tools.Searched() {
		return k.unfound(c), true
	}
	if why := k.invalid(c, tool, known); why != "" {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: why}, true
	}
	if c.Tool == policy.FindTool {
		text, strange := k.Tools.Found(k.Thread, c.Step.Branch, c.Args)
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallDone, Text: text, Origin: from(strange)}, true
	}
	if r, ok := k.unsteady(c); ok {
		return r, true
	}
	if c.Asked == nil && c.Use.Grant != nil && c.Use.Grant.Digest != k.Bound(c) {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "denied: this call is not the one that was allowed"}, true
	}
	if c.Asked != nil && !k.intact(c) {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: "denied: this call is not the one that was shown to the approvers"}, true
	}
	return memory.Result{}, false
}

// valid says whether people may be asked for the call anew.
func (k Case) valid(c *thread.Call) bool {
	tool, known := k.Tools.Find(c.Tool)
	return k.invalid(c, tool, known) == "" && k.intact(c)
}

// invalid says, in words for the model, why a call can't run; "" when it can.
func (k Case) invalid(c *thread.Call, tool policy.Tool, known bool) string {
	orSo := " Do without it, and say so."
	if c.Step.By != nil {
		orSo = ""
	}
	if slices.Index(c.Step.Calls, c) >= mostCalls {
		return fmt.Sprintf("not run: a step may hold %d calls", mostCalls)
	}
	if !known {
		return fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Tool, strings.Join(k.Tools.Names(), ", "))
	}
	if !tool.Entitled(c.Turn, c.Step.Seen) {
		return fmt.Sprintf(textNotFor, phrase.Names(tool.NotFor(c.Turn, c.Step.Seen))) + orSo
	}
	if k.Thread.IsOff(c.Tool) {
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
	if why := k.unplanned(c); why != "" {
		return "not scheduled: " + why
	}
	if tool.Risk != policy.Auto && tool.Risk != policy.Ask {
		return "denied: this tool is switched off by the configuration." + orSo
	}
	if k.Thread.Replaced(c) {
		return "denied: people changed these arguments earlier in this turn, and what they made of them counts."
	}
	if n := k.Thread.InARow(c); n > repeats && !tool.Advances {
		return fmt.Sprintf("This is the same call for the %s time in a row, so it was not run. Its result is above: use it, or try something else.", ordinal(n))
	}
	return ""
}

// unfound is the result of a call that spells no tool, where tools are found by search.
func (k Case) unfound(c *thread.Call) memory.Result {
	r := memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed}
	switch {
	case c.Tool == policy.UseTool && !c.Object:
		r.Text = "The call did not run: " + notOne(c.Args)
	case c.Tool == policy.UseTool:
		r.Text = "The call did not run: use_tool calls a tool that find_tools gave, by its name, and neither itself nor find_tools."
	default:
		near, strange := k.Tools.Nearest(k.Thread, c.Step.Branch, c.Tool)
		r.Text, r.Origin = fmt.Sprintf("There is no tool %q. The nearest are: %s.", c.Tool, strings.Join(near, ", ")), from(strange)
	}
	return r
}

// from is the origin of a text, by whether words of strangers are in it.
func from(strangers bool) string {
	if strangers {
		return thread.Outside
	}
	return thread.Inside
}

func (k Case) unplanned(c *thread.Call) string {
	if c.Tool != thread.ScheduleTool || !thread.IsObject(c.Args) {
		return ""
	}
	if c.Turn.Slot != nil {
		return "what a schedule asks makes no further one"
	}
	p, err := c.Planned(k.Zone(c.Turn.Requester), k.Thread.Now)
	switch {
	case err != nil:
		return err.Error()
	case p.Every > 0 && p.Every < k.Schedules.Least:
		return k.Schedules.Shortest()
	}
	return ""
}

// textNotFor is the result of a call whose tool is not for everybody in the turn.
const textNotFor = "denied: only some people may ask for this tool, and a message of %s is in this turn."

func notOne(text string) string {
	if _, err := args.Native(text); err != nil {
		return err.Error()
	}
	return "the arguments are not one JSON object and nothing else"
}

func ordinal(n int) string {
	if n == 3 {
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}

// silence is how much longer than a call may take its process must be silent before the
// outcome is called unknown.
const silence = 10 * time.Second

// Patience is how long the process that runs a call may stay silent; ok is false when it
// need not be watched.
func (k Case) Patience(c *thread.Call) (left time.Duration, ok bool) {
	if c.Run.Handle != nil || c.Run.By == "" || c.Run.By == k.Self {
		return 0, false
	}
	quiet, heard := k.Silent[c.Run.By]
	if !heard {
		return 0, true
	}
	return c.Run.Within + silence - min(quiet, c.Run.Within+silence), true
}

// Lost is the result of a call whose process is gone, as far as anybody can tell.
func (k Case) Lost(c *thread.Call) (memory.Result, bool) {
	_, heard := k.Silent[c.Run.By]
	left, other := k.Patience(c)
	gone := c.Run.By == "" || other && heard && left <= 0
	return UnknownOutcome(c.Call), gone
}

// UnknownOutcome is the result of a call whose process stopped while it ran.
func UnknownOutcome(c memory.Call) memory.Result {
	return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallUnknown, Text: "outcome unknown: the program stopped while this ran. It may or may not have taken effect, and is not run again by itself. Say so, and how to find out."}
}

// refused is the result of a call that people did not approve.
func refused(c *thread.Call) memory.Result {
	r := memory.Result{Call: c.ID, Tool: c.Tool}
	switch by := chat.Names(c.Decided.By); c.Decided.Outcome {
	case chat.Expired:
		r.State, r.Text = chat.CallExpired, "expired: nobody approved this call in time, so it did not run."
	case chat.Cancelled:
		r.State, r.Text = chat.CallCancelled, TextCancelled
		if c.Decided.Reason != "" {
			r.Text = "cancelled: " + c.Decided.Reason + ". The call did not run."
		}
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

// mostCalls is how many calls of one completion may run; a call beyond it is told so.
const mostCalls = 16

// TextCancelled is the result of a call whose turn was stopped.
const TextCancelled = "cancelled: the turn was stopped, so this call did not run."
