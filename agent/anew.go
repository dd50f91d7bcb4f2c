package agent

import (
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Anew is the model call that the running turn would make at the end of this log,
// for what a recorded call was for; ok is false when no turn runs. A summary that
// it would take is left out.
func (a *Agent) Anew(log *Log, kind memory.StepKind, branch int) (c Call, ok bool) {
	t := log.state.Open
	if t == nil {
		return Call{}, false
	}
	plain := *a
	plain.Summary = false
	d := decision{a: &plain, s: log.state, log: log}
	c, ok = d.call(t, phase{kind, branch}).(Call)
	return c, ok
}

// Told is a finished turn as people saw it: what they wrote in it, and what they
// thought of its answer.
type Told struct {
	Turn     uint64
	Messages []chat.Message
	Answer   string
	Opinions []Opinion
}

// Opinion is what a person thinks of an answer. Text is what was wrong, where they
// said so.
type Opinion struct {
	By   chat.User
	Good bool
	Text string
}

// Turns lists the finished turns of a thread.
func Turns(entries []memory.Entry) []Told {
	var out []Told
	for _, t := range thread.Read(entries).Turns {
		if !t.Ended {
			continue
		}
		told := Told{Turn: t.ID, Answer: t.Answer()}
		for _, m := range t.Asks() {
			told.Messages = append(told.Messages, m.Message)
		}
		for _, o := range t.Opinions {
			told.Opinions = append(told.Opinions, Opinion{By: o.By, Good: o.Good, Text: o.Text})
		}
		out = append(out, told)
	}
	return out
}
