package thread

import (
	"slices"

	"nod/chat"
	"nod/chat/vocabulary"
	"nod/memory"
)

// SkillTool is the name of the tool that gives the text of a skill.
const SkillTool = "skill"

// Order is the call that a message wants run; ok is false for any other message.
func (m *Message) Order() (o Order, ok bool) {
	switch {
	case m.Form != nil:
		return *m.Form, true
	case m.Aside, m.From.Bot:
		return Order{}, false
	case m.Skill != "":
		if _, name, ok := vocabulary.Parse(m.Text); ok && name == m.Skill { // no edit made it another
			return Order{Tool: SkillTool, Args: `{"name":"` + name + `"}`}, true
		}
	}
	return parseRun(m.Text)
}

func (s *Thread) takeOrder(e memory.Entry, b memory.Order) {
	said := chat.Message{From: b.By, Text: "run " + b.Tool + " " + b.Args, Sent: e.At}
	s.Folk.People[b.By.ID] = true
	s.Inbox.Waiting = append(s.Inbox.Waiting, &Message{Message: said, Seq: e.Seq, At: e.At, wrote: said.Text, Form: &Order{b.Tool, b.Args, b.Of}})
}

func (s *Thread) takeRan(e memory.Entry, b memory.Ran) {
	n := len(s.Calls)
	s.takeStep(e, memory.Step{Turn: b.Turn, N: 1, Seen: b.Seen, Phase: handStep, Calls: []memory.Call{b.Call}})
	if len(s.Calls) > n {
		s.Open.Steps[0].By = &b.By
	}
}

// handStep is the kind of such a step. It is never in a log.
const handStep memory.StepKind = "hand"

// ByHand says whether the turn is a single call of a person.
func (t *Turn) ByHand() bool {
	return len(t.Steps) == 1 && t.Steps[0].By != nil && t.Origin() == nil
}

// Refused says whether the step is a call by hand that could not even be asked for.
func (st *Step) Refused() bool {
	if st.By == nil || st.Calls[0].Result == nil {
		return false
	}
	c := st.Calls[0]
	return c.Result.State == chat.CallFailed && c.Result.Origin == "" && c.Asked == nil && !c.Started
}

// Origin is the call that the turn goes on from; nil where there is none, or where its
// repetition could not even be asked for.
func (t *Turn) Origin() *Call {
	if t.From == nil || len(t.Steps) > 0 && t.Steps[0].Refused() {
		return nil
	}
	return t.From
}

// Origin is the call that the step of a person takes the place of; nil where there is
// none.
func (st *Step) Origin() *Call {
	if st.By == nil {
		return nil
	}
	return st.Calls[0].Turn.Origin()
}

// latestSteps is the turn that `run 2 {…}` means; nil for any other text.
func (s *Thread) latestSteps(text string) *Turn {
	if o, ok := parseRun(text); !ok || Number(o.Tool) == 0 {
		return nil
	}
	return last(s.Turns, (*Turn).Acts)
}

// resumeTurn notes the call that a turn goes on from, and the calls behind it that had
// run.
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

// replacedBefore says whether people changed a call in the turns that this one goes on
// from. Their latest call counts, whatever it was before.
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
