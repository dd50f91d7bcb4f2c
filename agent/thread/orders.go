package thread

import (
	"reflect"
	"slices"

	"nod/chat"
	"nod/memory"
)

// Bind gives the digest that an approval of the call is bound to, and computes it once.
func (c *Call) Bind(digest func(*Call) string) string {
	if c.bound == "" {
		c.bound = digest(c)
	}
	return c.bound
}

// Unbind forgets the digests that approvals are bound to, since the tools may have
// changed.
func (s *Thread) Unbind() {
	for _, c := range s.Calls {
		c.bound = ""
	}
}

// Equal says whether two threads are the same but for what was computed on demand.
func (s *Thread) Equal(other *Thread) bool {
	for _, t := range []*Thread{s, other} {
		for _, c := range t.Calls {
			c.digest, c.bound = "", ""
		}
	}
	return reflect.DeepEqual(s, other)
}

// With is the call as it would be with other arguments.
func (c *Call) With(object string) *Call {
	next := *c
	next.Args, next.digest, next.bound = object, "", ""
	next.Preview.Bound = next.Preview.ByArgs[next.Digest()]
	return &next
}

// People may take a call of a turn that is over, edit its arguments, and run it
// again: by a form in the opened steps, or by `run 2 {…}`, which is the second call of
// the last steps. That is a call of their own, with all rules of one; but it stands in
// the place of the one that it is made of, and the model goes on from there to a new
// answer. What came of the earlier call leaves the prompt, and what had run is named.
//
// The turn that comes of it is another try: the answer of the one before is linked.
// So only the last turn, and what it is a try of, can be gone on with: nobody else's
// question comes between.

// Part is a turn as the prompt holds it: whole, or up to a call.
type Part struct {
	*Turn
	UpTo *Call // of it; nil: whole
	Runs bool  // it is of the current exchange
}

// Branch is the draft that the part shows as what was done.
func (p Part) Branch() int {
	if p.UpTo == nil {
		return 0
	}
	return p.UpTo.Step.Branch
}

// Path lists the steps that the part holds.
func (p Part) Path() []*Step {
	if p.UpTo == nil {
		return p.Steps
	}
	return p.Steps[:slices.Index(p.Steps, p.UpTo.Step)+1]
}

// Said lists what people said in it, but not the word that ran a call again.
func (p Part) Said() []*Message {
	msgs := p.Live()
	if p.Origin() == nil {
		return msgs
	}
	return Without(msgs, func(m *Message) bool { return m.Seq == p.ID })
}

// parts lists what the turns left in the prompt. A turn that goes on from an earlier
// one's call has before it what that one had, up to the call.
func (s *Thread) parts() []Part {
	now := make([]Part, 0, len(s.Turns))
	held := map[*Turn][]Part{} // what the prompt of a turn held, of those that others go on from
	for _, t := range s.Turns {
		if from := t.Origin(); from != nil {
			held[from.Turn] = nil
		}
	}
	for _, t := range s.Turns {
		if from := t.Origin(); from != nil && held[from.Turn] != nil {
			now = slices.Clone(held[from.Turn])
			now[len(now)-1].UpTo = from
		}
		now = append(now, Part{Turn: t})
		if _, wanted := held[t]; wanted {
			held[t] = now
		}
	}
	return now
}

// Talk lists the exchanges that a cut leaves: each a turn, with those that go on from
// a call of it.
func (s *Thread) Talk(cut memory.Trimmed) [][]Part {
	parts := s.parts()
	out := make([][]Part, 0, len(parts))
	for i, p := range parts {
		n := len(out)
		switch {
		case p.ID < cut.Before && p.Turn != s.Open:
		case n > 0 && p.Origin() != nil:
			out[n-1] = append(out[n-1], p)
		default:
			out = append(out, parts[i:i+1:i+1])
		}
	}
	if n := len(out); n > 0 && out[n-1][len(out[n-1])-1].Turn == s.Open {
		for i := range out[n-1] {
			out[n-1][i].Runs = true
		}
	}
	return out
}

// resumeTurn takes what the entry that opens a turn says of the call that it goes on
// from. The form in which that was edited is no message.
func (s *Thread) resumeTurn(t *Turn, from string) {
	if t.From = s.Calls[from]; t.From == nil {
		return
	}
	t.Msgs = slices.DeleteFunc(t.Msgs, func(m *Message) bool { return m.Seq == t.ID && m.Form != nil })
	later := false
	for _, u := range s.Turns {
		later = later || u == t.From.Turn
		for _, c := range u.Calls() {
			behind := u != t.From.Turn || c == t.From || c.Step.Seq > t.From.Step.Seq
			if later && behind && c.Started {
				t.Stays = append(t.Stays, c)
			}
		}
	}
}

// Asks lists what people said that the turn answers.
func (t *Turn) Asks() []*Message {
	from := t.Origin()
	if from == nil {
		return t.Live()
	}
	return append(from.Turn.Asks(), Part{Turn: t}.Said()...)
}

// Calls lists the calls of a turn in order, as people count them.
func (t *Turn) Calls() []*Call {
	var out []*Call
	for _, st := range t.Steps {
		out = append(out, st.Calls...)
	}
	return out
}

// Origin is the call that the turn goes on from; nil where it goes on from none, or
// where what was made of that could not even be asked for.
func (t *Turn) Origin() *Call {
	if t.From == nil || len(t.Steps) > 0 && t.Steps[0].Refused() {
		return nil
	}
	return t.From
}

// Origin is the same of the step that a person made.
func (st *Step) Origin() *Call {
	if st.By == nil {
		return nil
	}
	return st.Calls[0].Turn.Origin()
}

// latestSteps is the turn that `run 2 {…}` is about, by now; nil for any other text.
func (s *Thread) latestSteps(text string) *Turn {
	if o, ok := parseRun(text); !ok || Number(o.Tool) == 0 {
		return nil
	}
	for _, t := range slices.Backward(s.Turns) {
		if t.Acts() {
			return t
		}
	}
	return nil
}

// LastTry is the last turn, but for calls by hand that came to nothing.
func (s *Thread) LastTry() *Turn {
	for _, t := range slices.Backward(s.Turns) {
		if len(t.Steps) == 0 || !t.Steps[0].Refused() {
			return t
		}
	}
	return nil
}

// replacedBefore says whether people made something else of a call in what the turn
// goes on from. What they ran last themselves counts, whatever it was before.
func (t *Turn) replacedBefore(digest string) bool {
	if t.Origin() == nil || t.Steps[0].Calls[0].Digest() == digest {
		return false
	}
	for u := t; u.Origin() != nil; u = u.From.Turn {
		if u.From.Digest() == digest {
			return true
		}
		for _, c := range u.From.Turn.Calls() {
			if slices.Contains(c.Edits.Was, digest) {
				return true
			}
		}
	}
	return false
}

// Order is what a message wants run, as it stands; ok is false for any other.
func (m *Message) Order() (o Order, ok bool) {
	switch {
	case m.Form != nil:
		return *m.Form, true
	case m.Aside:
		return Order{}, false
	}
	return parseRun(m.Text)
}

// takeOrder takes an order that came from a form.
func (s *Thread) takeOrder(e memory.Entry, b memory.Order) {
	said := chat.Message{From: b.By, Text: "run " + b.Tool + " " + b.Args, Sent: e.At}
	s.Folk.People[b.By.ID] = true
	s.Inbox.Waiting = append(s.Inbox.Waiting, &Message{Message: said, Seq: e.Seq, At: e.At, wrote: said.Text, Form: &Order{b.Tool, b.Args, b.Of}})
}

// takeRan takes a step that a person made.
func (s *Thread) takeRan(e memory.Entry, b memory.Ran) {
	n := len(s.Calls)
	s.takeStep(e, memory.Step{Turn: b.Turn, N: 1, Seen: b.Seen, Phase: handStep, Calls: []memory.Call{b.Call}})
	if len(s.Calls) > n {
		s.Open.Steps[0].By = &b.By
	}
}

// handStep is the kind of such a step. It is never in a log.
const handStep memory.StepKind = "hand"

// ByHand says whether the turn is a call that a person made, and nothing more.
func (t *Turn) ByHand() bool {
	return len(t.Steps) == 1 && t.Steps[0].By != nil && t.Origin() == nil
}

// Refused says whether a step is a call by hand that could not even be asked for.
func (st *Step) Refused() bool {
	if st.By == nil || st.Calls[0].Result == nil {
		return false
	}
	c := st.Calls[0]
	return c.Result.State == chat.CallFailed && c.Result.Origin == "" && c.Asked == nil && !c.Started
}
