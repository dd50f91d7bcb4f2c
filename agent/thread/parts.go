package thread

import (
	"slices"

	"nod/memory"
)

// People may take a call of an ended turn, edit its arguments, and run it again: by a form
// in the opened steps, or by `run 2 {…}`, the second call of the last steps. It is a call
// of their own, with all rules of calls. It stands in the place of the old call, and the
// model goes on from there to a new answer. The results of the old call leave the prompt;
// calls that had run are named.
//
// The new turn is another try of the old one, and its answer links the earlier answer.
// Only the last turn and its earlier tries can be gone on with, so that no question of
// another person comes between.

// Part is a turn as the prompt holds it: whole, or up to a call.
type Part struct {
	*Turn
	UpTo *Call // the last call of it; nil: the whole turn
	Runs bool  // it is of the current exchange
}

// Branch is the draft that the part shows.
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

// Said lists the messages in it, without the word that ran a call again.
func (p Part) Said() []*Message {
	msgs := p.Live()
	if p.Origin() == nil {
		return msgs
	}
	return Without(msgs, func(m *Message) bool { return m.Seq == p.ID })
}

// parts lists the turns as the prompt holds them. A turn that goes on from an earlier call
// repeats the turns before it, up to that call.
func (s *Thread) parts() []Part {
	now := make([]Part, 0, len(s.Turns))
	held := map[*Turn][]Part{} // the prompt of each turn that others go on from
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

// Talk lists the exchanges that a cut leaves. Turns that go on from one another are one
// exchange.
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

// Asks lists the messages that the turn answers.
func (t *Turn) Asks() []*Message {
	from := t.Origin()
	if from == nil {
		return t.Live()
	}
	return append(from.Turn.Asks(), Part{Turn: t}.Said()...)
}

// Calls lists the calls of the turn in order, as people count them.
func (t *Turn) Calls() []*Call {
	return slices.Collect(t.EachCall())
}
