package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"nod/agent/speak"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// People may call a tool themselves: `run NAME {…}`. Such a call is the first step
// of a turn of its own, whose requester they are, and which ends with the call's
// result instead of an answer: no model is asked. All else is as for any call: what
// it may do, who is asked before, and what is said of it afterwards. The model sees
// it in later turns, and that it was not its own.
//
// A turn that runs is not disturbed: the order waits, and what is said behind it
// waits with it, so that all goes on in the order in which it was said.

// order is a call that somebody wants.
type order struct {
	tool, args string
	of         string // the call that it is made of, by its id
}

// parseRun reads `run NAME {…}`: an order only when a JSON object follows the name,
// or what was meant to be one.
func parseRun(text string) (o order, ok bool) {
	if len(text) > mostChange {
		return order{}, false
	}
	text = strings.TrimSpace(text)
	head, _, found := strings.Cut(text, "{")
	if verb := firstWord(head); !found || !strings.EqualFold(verb, "run") {
		return order{}, false
	}
	words := strings.Fields(strings.ReplaceAll(head, "```json", "```"))
	if len(words) < 2 || len(words) > 3 || len(words) == 3 && strings.Trim(words[2], "`") != "" {
		return order{}, false
	}
	o.tool = strings.Trim(words[1], "`")
	o.args = typedObject(text[len(head):])
	return o, o.tool != "" && meantAsObject(o.args)
}

// typedObject is a JSON object as somebody typed it, perhaps as code.
func typedObject(text string) string {
	text = strings.TrimSpace(strings.TrimRight(text, "` \t\r\n"))
	if !json.Valid([]byte(text)) { // keyboards of phones make their own quotes
		if plain := straight.Replace(text); json.Valid([]byte(plain)) {
			return plain
		}
	}
	return text
}

var straight = strings.NewReplacer("“", `"`, "”", `"`, "„", `"`)

// meantAsObject says whether a text is a JSON object, or begins like one.
func meantAsObject(text string) bool {
	rest := strings.TrimSpace(strings.TrimPrefix(text, "{"))
	return isObject(text) || strings.HasPrefix(rest, `"`) || strings.HasPrefix(rest, "“") || strings.HasPrefix(rest, "'")
}

// order is what a message wants run, as it stands; ok is false for any other.
func (m *message) order() (o order, ok bool) {
	switch {
	case m.form != nil:
		return *m.form, true
	case m.Aside:
		return order{}, false
	}
	return parseRun(m.Text)
}

// ordered takes an order that came from a form.
func (s *state) ordered(e memory.Entry, b memory.Order) {
	said := chat.Message{From: b.By, Text: "run " + b.Tool + " " + b.Args, Sent: e.At}
	s.people[b.By.ID] = true
	s.waiting = append(s.waiting, &message{Message: said, seq: e.Seq, at: e.At, wrote: said.Text, form: &order{b.Tool, b.Args, b.Of}})
}

// queues says whether a message waits while a turn runs: an order does, and what is
// said behind one.
func (s *state) queues(m *message) bool {
	_, ok := m.order()
	return ok || len(s.waiting) > 0 && !m.Aside
}

// together is how many of the messages that wait open one turn: an order alone, or
// all up to the next one.
func together(waiting []*message) int {
	for i, m := range waiting {
		if _, ok := m.order(); ok {
			return max(1, i)
		}
	}
	return len(waiting)
}

// unqueue gives what waited to a turn that was stopped: whoever stops means all that
// was said before.
func (s *state) unqueue(t *turn, upTo uint64) {
	for len(s.waiting) > 0 && s.waiting[0].seq <= upTo {
		t.msgs, s.waiting = append(t.msgs, s.waiting[0]), s.waiting[1:]
	}
}

// makes is the entry for the call that a message wants.
func (d *decision) makes(m *message, o order) memory.Ran {
	c := memory.Call{ID: named(fmt.Sprintf("%d-1-1", m.seq), d.log.claim.Token), Tool: o.tool, Args: o.args}
	if isObject(o.args) {
		if raw, err := args.Native(o.args); err == nil {
			c.Args, c.Object = string(raw), true
		}
	}
	return memory.Ran{Turn: m.seq, Seen: d.s.last, By: m.From, Call: c}
}

// ran takes a step that a person made.
func (s *state) ran(e memory.Entry, b memory.Ran) {
	n := len(s.calls)
	s.step(e, memory.Step{Turn: b.Turn, N: 1, Seen: b.Seen, Phase: handStep, Calls: []memory.Call{b.Call}})
	if len(s.calls) > n {
		s.open.steps[0].by = &b.By
	}
}

// handStep is the kind of such a step. It is never in a log.
const handStep memory.StepKind = "hand"

// byHand says whether the turn is a call that a person made, and nothing more.
func (t *turn) byHand() bool {
	return len(t.steps) == 1 && t.steps[0].by != nil && t.origin() == nil
}

// refused says whether a step is a call by hand that could not even be asked for.
func (st *step) refused() bool {
	if st.by == nil || st.calls[0].result == nil {
		return false
	}
	c := st.calls[0]
	return c.result.State == chat.CallFailed && c.result.Origin == "" && c.asked == nil && !c.started
}

// notOne says what is wrong with arguments that are no JSON object.
func notOne(text string) string {
	if _, err := args.Native(text); err != nil {
		return err.Error()
	}
	return "the arguments are not one JSON object and nothing else"
}

// textByHand tells the model whose call it was.
func textByHand(c *call) string {
	if c.step.by == nil {
		return ""
	}
	return fmt.Sprintf("[%s ran this call; it is not one of yours.]\n", c.step.by.Display())
}

func (t *turn) reportName() string { return "ran/" + t.name }

// reporting shows what came of a call that a person made, and ends the turn.
func (d *decision) reporting(t *turn, st *step) Action {
	if t.answered(d.s) {
		return d.closing(t)
	}
	if act := d.sharing(t, st); act != nil {
		return act
	}
	p := d.notice(t.reportName(), t.replyTo(), st.calls[0].report(), st.seq)
	p.Then = d.unlessSteps(t)
	return p
}

// report says to people what came of a call that one of them made.
func (c *call) report() string {
	r, head := c.result, fmt.Sprintf("`%s`, run by %s", strings.ReplaceAll(c.Tool, "`", "'"), c.step.by.Display())
	switch {
	case c.step.refused():
		return r.Text
	case r.State == chat.CallDone && strings.TrimSpace(r.Text) == "":
		return head + ": " + c.fate() + "."
	case r.State == chat.CallDone:
		return head + ": " + c.fate() + ".\n" + speak.Fence(r.Text)
	case r.State == chat.CallFailed:
		return head + ", failed.\n" + speak.Fence(r.Text)
	case r.State == chat.CallUnknown:
		return head + ": outcome unknown. The program stopped while this ran; it may or may not have taken effect, and is not run again by itself."
	case c.decided == nil || c.decided.Reason != "":
		return head + ", did not run: " + r.Text
	}
	return head + ", did not run. " + c.headline() + "."
}
