package agent

import (
	"fmt"

	"nod/agent/thread"
	"nod/agent/view"
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

// reporting shows what came of a call that a person made, and ends the turn.
func (d *decision) reporting(t *thread.Turn, st *thread.Step) Action {
	if t.Answered(d.s) {
		return d.closing(t)
	}
	if act := d.sharing(t, st); act != nil {
		return act
	}
	p := d.notice(t.ReportName(), t.ReplyTo(), view.Report(st.Calls[0]), st.Seq)
	p.Then = d.unlessSteps(t)
	return p
}
