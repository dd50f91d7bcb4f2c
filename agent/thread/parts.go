package thread

import (
	"slices"

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
