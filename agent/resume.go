package agent

import (
	"fmt"
	"slices"
	"strings"

	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// meant is the call that an order is made of, nil where there is none any more; ok is
// false for an order that is made of none.
func (d *decision) meant(m *thread.Message, o thread.Order) (c *thread.Call, ok bool) {
	if o.Of != "" {
		return d.s.Calls[o.Of], true
	}
	n := thread.Number(o.Tool)
	if _, known := d.a.tool(o.Tool); known || n == 0 {
		return nil, false
	}
	if m.Steps != nil && n <= len(m.Steps.Calls()) {
		c = m.Steps.Calls()[n-1]
	}
	return c, true
}

// ordering is what opens a turn for a call that a person makes, with that call.
func (d *decision) ordering(m *thread.Message, o thread.Order, plain []memory.Body) []memory.Body {
	c, again := d.meant(m, o)
	if !again {
		return append(plain, d.makes(m, o))
	}
	why := barsAgain(d.s, c)
	if c != nil {
		o.Tool = c.Tool
	} else if o.Of == "" {
		why = "there is no call " + o.Tool + " in the last steps; `steps` lists them"
	}
	ran := d.makes(m, o)
	switch {
	case why != "":
		return append(plain, ran, memory.Result{Call: ran.Call.ID, Tool: o.Tool, State: chat.CallFailed, Text: NotRun(why)})
	case c.Turn.ByHand():
		return append(plain, ran)
	}
	return []memory.Body{d.resumed(m, c), ran}
}

// resumed is the entry that opens a turn which goes on from a call.
func (d *decision) resumed(m *thread.Message, c *thread.Call) memory.Opened {
	last := d.s.LastTry()
	b := memory.Opened{
		Turn: m.Seq, Name: d.name(m.Seq, m.Ref), Requester: m.From, Again: last.ID, From: c.ID,
		Try: last.Tries + 2, Voices: last.Senders(d.s.Last), To: c.Turn.ReplyTo(),
	}
	if how := Strategy(c.Turn.Strategy); how == Reflexion {
		b.Strategy = string(how)
	}
	return b
}

// barsAgain says why a call can't be run again with other arguments; "" when it can.
func barsAgain(s *thread.Thread, c *thread.Call) string {
	switch {
	case c == nil || c.Turn.ID < s.Trim.Before:
		return "I don't hold these steps any more; ask again"
	case !c.Turn.Ended:
		return "its turn is not over yet"
	}
	for t := s.LastTry(); t != nil; t = s.Turn(t.Again) {
		if t == c.Turn {
			return ""
		}
	}
	return "there is something newer in this thread; ask again there"
}

// offerAgain says of which calls people may run again.
func offerAgain(s *thread.Thread, items []chat.Step) {
	for i := range items {
		for k := range items[i].Calls {
			c := s.Calls[items[i].Calls[k].ID]
			items[i].Calls[k].Again = c != nil && c.Object && s.Open == nil && barsAgain(s, c) == ""
		}
	}
}

// besides lists what else the step did from which on there is another call.
func (d *decision) besides(from *thread.Call, cut memory.Trimmed) []speak.Item {
	if len(from.Step.Calls) == 1 {
		return nil
	}
	rest := *from.Step
	rest.Calls = slices.DeleteFunc(slices.Clone(rest.Calls), func(c *thread.Call) bool { return c == from })
	return []speak.Item{{Step: d.doing(&rest, cut)}}
}

// Bounds of what is named in words: how many calls, and how long the arguments are.
const (
	mostNamed   = 8
	mostOfNamed = 200
)

// resumeNote tells the model in whose place a call stands. It comes behind it, where
// a model expects somebody to speak.
func resumeNote(t *thread.Turn, st *thread.Step, cut memory.Trimmed) []speak.Item {
	c := st.Origin()
	if c == nil {
		return nil
	}
	text := fmt.Sprintf(textResumed, st.By.Display(), brief(c.Tool), shortArgs(c))
	if len(t.Stays) > 0 {
		text += fmt.Sprintf(textStays, whatRan(t.Stays))
	}
	return []speak.Item{{Said: speak.Clip("["+text+"]", cut.Clip)}}
}

// ranAgainText says the same to people.
func ranAgainText(t *thread.Turn) string {
	text := ranText(t, func(s string) string { return s }) + ", in place of " + shortArgs(t.From) + "."
	if len(t.Stays) > 0 {
		text += " What had run stays: " + whatRan(t.Stays) + "."
	}
	return text
}

// textYou is what whoever sits at the terminal is called, where the system has no name
// for them.
const textYou = "you"

// ranText is how people are told of the call.
func ranText(t *thread.Turn, quote func(string) string) string {
	st, verb := t.Steps[0], " ran "
	switch c := st.Calls[0]; {
	case c.Result == nil && st.By.Display() == textYou:
		verb = " run "
	case c.Result == nil:
		verb = " runs "
	case c.Result.State != chat.CallDone && c.Result.State != chat.CallFailed && c.Result.State != chat.CallUnknown:
		verb = " wanted to run "
	}
	return st.By.Display() + verb + quote(brief(st.Calls[0].Tool)+" "+shortArgs(st.Calls[0]))
}

// whatRan lists calls with what came of them.
func whatRan(calls []*thread.Call) string {
	var out []string
	for i, c := range calls {
		if i == mostNamed {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		what := "outcome unknown"
		if c.Result != nil {
			what = fate(c)
		}
		out = append(out, brief(c.Tool)+" "+shortArgs(c)+" ("+what+")")
	}
	return strings.Join(out, "; ")
}

func shortArgs(c *thread.Call) string { return speak.Clip(chat.Exact(c.Shown()), mostOfNamed) }

// Again is a call as a form shows it in which a person edits it and runs it again;
// why says why that can't be.
func (a *Agent) Again(entries []memory.Entry, call string) (v chat.Again, why string) {
	s := thread.Read(entries)
	c := s.Calls[call]
	if why := barsAgain(s, c); why != "" {
		return v, why
	}
	tool, known := a.tool(c.Tool)
	if !known || s.IsOff(c.Tool) || tool.Risk != Auto && tool.Risk != Ask {
		return v, "its tool can't be used here any more"
	}
	v = chat.Again{Call: c.ID, Tool: c.Tool, Args: c.Shown(), Parameters: string(tool.Parameters)}
	v.Number = slices.Index(c.Turn.Calls(), c) + 1
	return v, ""
}

// Reruns makes the order of what a person sends with such a form; why says why there
// is none, as far as that is plain from the log.
func (a *Agent) Reruns(entries []memory.Entry, c chat.Change) (b memory.Order, why string) {
	v, why := a.Again(entries, c.Call)
	switch {
	case c.By.Bot:
		return b, "a bot runs nothing"
	case why != "":
		return b, why
	case !thread.IsObject(c.Args):
		return b, "these arguments are no JSON object"
	}
	if _, err := args.Native(c.Args); err != nil {
		return b, err.Error()
	}
	if tool, _ := a.tool(v.Tool); tool.Schema != nil {
		if bad := tool.Schema.Check([]byte(c.Args)); len(bad) > 0 {
			return b, "the arguments don't fit the tool's parameters: " + strings.Join(bad, "; ")
		}
	}
	return memory.Order{By: c.By, Tool: v.Tool, Args: c.Args, Of: c.Call}, ""
}

// NotRun says to whoever wanted a call run again that it is not.
func NotRun(why string) string { return "I did not run it: " + why + "." }
