package agent

import (
	"fmt"
	"strings"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// makes is the entry for the call that a message wants.
func (d *decision) makes(m *thread.Message, o thread.Order) memory.Ran {
	c := memory.Call{ID: named(fmt.Sprintf("%d-1-1", m.Seq), d.log.claim.Token), Tool: o.Tool, Args: o.Args}
	if thread.IsObject(o.Args) {
		if raw, err := args.Native(o.Args); err == nil {
			c.Args, c.Object = string(raw), true
		}
	}
	return memory.Ran{Turn: m.Seq, Seen: d.s.Last, By: m.From, Call: c}
}

// notOne says what is wrong with arguments that are no JSON object.
func notOne(text string) string {
	if _, err := args.Native(text); err != nil {
		return err.Error()
	}
	return "the arguments are not one JSON object and nothing else"
}

// textByHand tells the model whose call it was.
func textByHand(c *thread.Call) string {
	if c.Step.By == nil {
		return ""
	}
	return fmt.Sprintf("[%s ran this call; it is not one of yours.]\n", c.Step.By.Display())
}

// reporting shows what came of a call that a person made, and ends the turn.
func (d *decision) reporting(t *thread.Turn, st *thread.Step) Action {
	if t.Answered(d.s) {
		return d.closing(t)
	}
	if act := d.sharing(t, st); act != nil {
		return act
	}
	p := d.notice(t.ReportName(), t.ReplyTo(), report(st.Calls[0]), st.Seq)
	p.Then = d.unlessSteps(t)
	return p
}

// report says to people what came of a call that one of them made.
func report(c *thread.Call) string {
	r, head := c.Result, fmt.Sprintf("`%s`, run by %s", strings.ReplaceAll(c.Tool, "`", "'"), c.Step.By.Display())
	switch {
	case c.Step.Refused():
		return r.Text
	case r.State == chat.CallDone && strings.TrimSpace(r.Text) == "":
		return head + ": " + fate(c) + "."
	case r.State == chat.CallDone:
		return head + ": " + fate(c) + ".\n" + speak.Fence(r.Text)
	case r.State == chat.CallFailed:
		return head + ", failed.\n" + speak.Fence(r.Text)
	case r.State == chat.CallUnknown:
		return head + ": outcome unknown. The program stopped while this ran; it may or may not have taken effect, and is not run again by itself."
	case c.Decided == nil || c.Decided.Reason != "":
		return head + ", did not run: " + r.Text
	}
	return head + ", did not run. " + headline(c) + "."
}
