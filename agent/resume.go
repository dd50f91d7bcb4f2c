package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/agent/speak"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// People may take a call of a turn that is over, edit its arguments, and run it
// again: by a form in the opened steps, or by `run 2 {…}`, which is the second call of
// the last steps. That is a call of their own, with all rules of one; but it stands in
// the place of the one that it is made of, and the model goes on from there to a new
// answer. What came of the earlier call leaves the prompt, and what had run is named.
//
// The turn that comes of it is another try: the answer of the one before is linked.
// So only the last turn, and what it is a try of, can be gone on with: nobody else's
// question comes between.

// part is a turn as the prompt holds it: whole, or up to a call.
type part struct {
	*turn
	upTo *call // of it; nil: whole
	runs bool  // it is of the current exchange
}

// branch is the draft that the part shows as what was done.
func (p part) branch() int {
	if p.upTo == nil {
		return 0
	}
	return p.upTo.step.Branch
}

// path lists the steps that the part holds.
func (p part) path() []*step {
	if p.upTo == nil {
		return p.steps
	}
	return p.steps[:slices.Index(p.steps, p.upTo.step)+1]
}

// said lists what people said in it, but not the word that ran a call again.
func (p part) said() []*message {
	msgs := p.live()
	if p.origin() == nil {
		return msgs
	}
	return without(msgs, func(m *message) bool { return m.seq == p.id })
}

// parts lists what the turns left in the prompt. A turn that goes on from an earlier
// one's call has before it what that one had, up to the call.
func (s *state) parts() []part {
	now := make([]part, 0, len(s.turns))
	held := map[*turn][]part{} // what the prompt of a turn held, of those that others go on from
	for _, t := range s.turns {
		if from := t.origin(); from != nil {
			held[from.turn] = nil
		}
	}
	for _, t := range s.turns {
		if from := t.origin(); from != nil && held[from.turn] != nil {
			now = slices.Clone(held[from.turn])
			now[len(now)-1].upTo = from
		}
		now = append(now, part{turn: t})
		if _, wanted := held[t]; wanted {
			held[t] = now
		}
	}
	return now
}

// talk lists the exchanges that a cut leaves: each a turn, with those that go on from
// a call of it.
func (s *state) talk(cut memory.Trimmed) [][]part {
	parts := s.parts()
	out := make([][]part, 0, len(parts))
	for i, p := range parts {
		n := len(out)
		switch {
		case p.id < cut.Before && p.turn != s.open:
		case n > 0 && p.origin() != nil:
			out[n-1] = append(out[n-1], p)
		default:
			out = append(out, parts[i:i+1:i+1])
		}
	}
	if n := len(out); n > 0 && out[n-1][len(out[n-1])-1].turn == s.open {
		for i := range out[n-1] {
			out[n-1][i].runs = true
		}
	}
	return out
}

// resume takes what the entry that opens a turn says of the call that it goes on
// from. The form in which that was edited is no message.
func (s *state) resume(t *turn, from string) {
	if t.from = s.calls[from]; t.from == nil {
		return
	}
	t.msgs = slices.DeleteFunc(t.msgs, func(m *message) bool { return m.seq == t.id && m.form != nil })
	later := false
	for _, u := range s.turns {
		later = later || u == t.from.turn
		for _, c := range u.calls() {
			behind := u != t.from.turn || c == t.from || c.step.seq > t.from.step.seq
			if later && behind && c.started {
				t.stays = append(t.stays, c)
			}
		}
	}
}

// asks lists what people said that the turn answers.
func (t *turn) asks() []*message {
	from := t.origin()
	if from == nil {
		return t.live()
	}
	return append(from.turn.asks(), part{turn: t}.said()...)
}

// calls lists the calls of a turn in order, as people count them.
func (t *turn) calls() []*call {
	var out []*call
	for _, st := range t.steps {
		out = append(out, st.calls...)
	}
	return out
}

// origin is the call that the turn goes on from; nil where it goes on from none, or
// where what was made of that could not even be asked for.
func (t *turn) origin() *call {
	if t.from == nil || len(t.steps) > 0 && t.steps[0].refused() {
		return nil
	}
	return t.from
}

// origin is the same of the step that a person made.
func (st *step) origin() *call {
	if st.by == nil {
		return nil
	}
	return st.calls[0].turn.origin()
}

// latestSteps is the turn that `run 2 {…}` is about, by now; nil for any other text.
func (s *state) latestSteps(text string) *turn {
	if o, ok := parseRun(text); !ok || number(o.tool) == 0 {
		return nil
	}
	for _, t := range slices.Backward(s.turns) {
		if t.acts() {
			return t
		}
	}
	return nil
}

// number reads the number of a call; 0 for what is none.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// meant is the call that an order is made of, nil where there is none any more; ok is
// false for an order that is made of none.
func (d *decision) meant(m *message, o order) (c *call, ok bool) {
	if o.of != "" {
		return d.s.calls[o.of], true
	}
	n := number(o.tool)
	if _, known := d.a.tool(o.tool); known || n == 0 {
		return nil, false
	}
	if m.steps != nil && n <= len(m.steps.calls()) {
		c = m.steps.calls()[n-1]
	}
	return c, true
}

// ordering is what opens a turn for a call that a person makes, with that call.
func (d *decision) ordering(m *message, o order, plain []memory.Body) []memory.Body {
	c, again := d.meant(m, o)
	if !again {
		return append(plain, d.makes(m, o))
	}
	why := d.s.fixed(c)
	if c != nil {
		o.tool = c.Tool
	} else if o.of == "" {
		why = "there is no call " + o.tool + " in the last steps; `steps` lists them"
	}
	ran := d.makes(m, o)
	switch {
	case why != "":
		return append(plain, ran, memory.Result{Call: ran.Call.ID, Tool: o.tool, State: chat.CallFailed, Text: NotRun(why)})
	case c.turn.byHand():
		return append(plain, ran)
	}
	return []memory.Body{d.resumed(m, c), ran}
}

// resumed is the entry that opens a turn which goes on from a call.
func (d *decision) resumed(m *message, c *call) memory.Opened {
	last := d.s.lastTry()
	b := memory.Opened{
		Turn: m.seq, Name: d.name(m.seq, m.Ref), Requester: m.From, Again: last.id, From: c.ID,
		Try: last.tries + 2, Voices: last.senders(d.s.last), To: c.turn.replyTo(),
	}
	if how := Strategy(c.turn.strategy); how == Reflexion {
		b.Strategy = string(how)
	}
	return b
}

// lastTry is the last turn, but for calls by hand that came to nothing.
func (s *state) lastTry() *turn {
	for _, t := range slices.Backward(s.turns) {
		if len(t.steps) == 0 || !t.steps[0].refused() {
			return t
		}
	}
	return nil
}

// fixed says why a call can't be run again with other arguments; "" when it can.
func (s *state) fixed(c *call) string {
	switch {
	case c == nil || c.turn.id < s.trim.Before:
		return "I don't hold these steps any more; ask again"
	case !c.turn.ended:
		return "its turn is not over yet"
	}
	for t := s.lastTry(); t != nil; t = s.turn(t.again) {
		if t == c.turn {
			return ""
		}
	}
	return "there is something newer in this thread; ask again there"
}

// offerAgain says of which calls people may run again.
func (s *state) offerAgain(items []chat.Step) {
	for i := range items {
		for k := range items[i].Calls {
			c := s.calls[items[i].Calls[k].ID]
			items[i].Calls[k].Again = c != nil && c.Object && s.open == nil && s.fixed(c) == ""
		}
	}
}

// besides lists what else the step did from which on there is another call.
func (d *decision) besides(from *call, cut memory.Trimmed) []speak.Item {
	if len(from.step.calls) == 1 {
		return nil
	}
	rest := *from.step
	rest.calls = slices.DeleteFunc(slices.Clone(rest.calls), func(c *call) bool { return c == from })
	return []speak.Item{{Step: d.doing(&rest, cut)}}
}

// Bounds of what is named in words: how many calls, and how long the arguments are.
const (
	mostNamed   = 8
	mostOfNamed = 200
)

// resumeNote tells the model in whose place a call stands. It comes behind it, where
// a model expects somebody to speak.
func (t *turn) resumeNote(st *step, cut memory.Trimmed) []speak.Item {
	c := st.origin()
	if c == nil {
		return nil
	}
	text := fmt.Sprintf(textResumed, st.by.Display(), brief(c.Tool), shortArgs(c))
	if len(t.stays) > 0 {
		text += fmt.Sprintf(textStays, whatRan(t.stays))
	}
	return []speak.Item{{Said: speak.Clip("["+text+"]", cut.Clip)}}
}

// ranAgain says the same to people.
func (t *turn) ranAgain() string {
	text := t.ran(func(s string) string { return s }) + ", in place of " + shortArgs(t.from) + "."
	if len(t.stays) > 0 {
		text += " What had run stays: " + whatRan(t.stays) + "."
	}
	return text
}

// textYou is what whoever sits at the terminal is called, where the system has no name
// for them.
const textYou = "you"

// ran is how people are told of the call.
func (t *turn) ran(quote func(string) string) string {
	st, verb := t.steps[0], " ran "
	switch c := st.calls[0]; {
	case c.result == nil && st.by.Display() == textYou:
		verb = " run "
	case c.result == nil:
		verb = " runs "
	case c.result.State != chat.CallDone && c.result.State != chat.CallFailed && c.result.State != chat.CallUnknown:
		verb = " wanted to run "
	}
	return st.by.Display() + verb + quote(brief(st.calls[0].Tool)+" "+shortArgs(st.calls[0]))
}

// whatRan lists calls with what came of them.
func whatRan(calls []*call) string {
	var out []string
	for i, c := range calls {
		if i == mostNamed {
			out = append(out, fmt.Sprintf("and %d more", len(calls)-i))
			break
		}
		what := "outcome unknown"
		if c.result != nil {
			what = c.fate()
		}
		out = append(out, brief(c.Tool)+" "+shortArgs(c)+" ("+what+")")
	}
	return strings.Join(out, "; ")
}

func shortArgs(c *call) string { return speak.Clip(chat.Exact(c.shown()), mostOfNamed) }

// replacedBefore says whether people made something else of a call in what the turn
// goes on from. What they ran last themselves counts, whatever it was before.
func (t *turn) replacedBefore(digest string) bool {
	if t.origin() == nil || t.steps[0].calls[0].digest() == digest {
		return false
	}
	for u := t; u.origin() != nil; u = u.from.turn {
		if u.from.digest() == digest {
			return true
		}
		for _, c := range u.from.turn.calls() {
			if slices.Contains(c.was, digest) {
				return true
			}
		}
	}
	return false
}

// Again is a call as a form shows it in which a person edits it and runs it again;
// why says why that can't be.
func (a *Agent) Again(entries []memory.Entry, call string) (v chat.Again, why string) {
	s := fold(entries)
	c := s.calls[call]
	if why := s.fixed(c); why != "" {
		return v, why
	}
	tool, known := a.tool(c.Tool)
	if !known || s.isOff(c.Tool) || tool.Risk != Auto && tool.Risk != Ask {
		return v, "its tool can't be used here any more"
	}
	v = chat.Again{Call: c.ID, Tool: c.Tool, Args: c.shown(), Parameters: string(tool.Parameters)}
	v.Number = slices.Index(c.turn.calls(), c) + 1
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
	case !isObject(c.Args):
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
