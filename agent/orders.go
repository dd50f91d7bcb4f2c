package agent

import (
	"fmt"
	"slices"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/policy"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// findMeant is the call that an order repeats, nil where the log holds it no more; ok is
// false for an order that repeats none.
func (d *decision) findMeant(m *thread.Message, o thread.Order) (c *thread.Call, ok bool) {
	if o.Of != "" {
		return d.thread.Calls[o.Of], true
	}
	n := thread.Number(o.Tool)
	if _, known := d.agent.Tools.Find(o.Tool); known || n == 0 {
		return nil, false
	}
	if m.Steps != nil && n <= len(m.Steps.Calls()) {
		c = m.Steps.Calls()[n-1]
	}
	return c, true
}

// ordering is the entries that open a turn for a call that a person makes.
func (d *decision) ordering(m *thread.Message, o thread.Order, plain []memory.Body) []memory.Body {
	if slices.ContainsFunc(d.agent.Skills, func(s policy.Skill) bool { return s.Off && s.Name == m.Skill }) {
		ran := d.ranEntry(m, o)
		return append(plain, ran, memory.Result{Call: ran.Call.ID, Tool: o.Tool, State: chat.CallFailed, Text: notRun("the skill " + m.Skill + " is off; `skills` says why")})
	}
	c, again := d.findMeant(m, o)
	if !again {
		return append(plain, d.ranEntry(m, o))
	}
	why := view.BarsAgain(d.thread, c)
	if c != nil {
		o.Tool = c.Tool
	} else if o.Of == "" {
		why = "there is no call " + o.Tool + " in the last steps; `steps` lists them"
	}
	ran := d.ranEntry(m, o)
	switch {
	case why != "":
		return append(plain, ran, memory.Result{Call: ran.Call.ID, Tool: o.Tool, State: chat.CallFailed, Text: notRun(why)})
	case c.Turn.ByHand():
		return append(plain, ran)
	}
	return []memory.Body{d.openedAgain(m, c), ran}
}

// openedAgain is the entry that opens a turn which goes on from a call.
func (d *decision) openedAgain(m *thread.Message, c *thread.Call) memory.Opened {
	last := d.thread.LastTry()
	b := memory.Opened{
		Turn: m.Seq, Name: d.turnName(m.Seq, m.Ref), Requester: m.From, Again: last.ID, From: c.ID,
		Try: last.Tries + 2, Voices: last.Senders(d.thread.Last), To: c.Turn.ReplyTo(),
	}
	if how := strategy.Kind(c.Turn.Strategy); how == strategy.Reflexion {
		b.Strategy = string(how)
	}
	return b
}

// ranEntry is the entry for the call that a message wants.
func (d *decision) ranEntry(m *thread.Message, o thread.Order) memory.Ran {
	c := memory.Call{ID: nameUnder(fmt.Sprintf("%d-1-1", m.Seq), d.log.claim.Token), Tool: o.Tool, Args: o.Args}
	if thread.IsObject(o.Args) {
		if raw, err := args.Native(o.Args); err == nil {
			c.Args, c.Object = string(raw), true
		}
	}
	return memory.Ran{Turn: m.Seq, Seen: d.thread.Last, By: m.From, Call: c}
}

// A requester may ask for another try of an answer: a turn of its own, with no new
// message. The effects of earlier tries stay, and the model sees them. The turn remembers
// who spoke in the first one, since the log may lose that: they may not approve, or not
// ask for a tool, here either.

// again opens another try of the last answer.
func (d *decision) again() do.Action {
	if d.thread.Open != nil || len(d.thread.Inbox.Waiting) > 0 {
		return nil
	}
	for _, r := range d.thread.Inbox.Reacts {
		if t, why := approval.Retried(d.thread, r.Reaction); t != nil && why == "" {
			return do.Record{Bodies: []memory.Body{memory.Opened{
				Turn: r.Seq, Name: d.turnName(r.Seq, r.On), Requester: t.Requester, Strategy: t.Strategy, Again: t.ID,
				Try: t.Tries + 2, Voices: t.Senders(d.thread.Last), To: t.ReplyTo(),
			}}}
		}
	}
	return nil
}

func notRun(why string) string { return "I did not run it: " + why + "." }
