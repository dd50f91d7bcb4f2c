package agent

import (
	"regexp"
	"strings"

	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/memory"
)

// opened is the entry that opens a turn with a message.
func (d *decision) opened(m *thread.Message) memory.Opened {
	how, _ := strategy.Chosen(m.Text)
	if how == "" {
		how = d.a.Strategy
	}
	if _, ok := m.Order(); ok || how == strategy.Straight {
		how = ""
	}
	return memory.Opened{Turn: m.Seq, Name: d.name(m.Seq, m.Ref), Requester: m.From, Strategy: string(how)}
}

// checks says whether a draft has to be checked before it is the answer.
func (d *decision) checks(t *thread.Turn) bool {
	last := t.LastStep()
	return strategy.Kind(t.Strategy) == strategy.Reflexion && last.Phase == "" && len(t.Of(memory.ReflectStep)) < d.a.Retries
}

// limit is how many calls of a phase may use tools, and so far did.
func (d *decision) limit(t *thread.Turn, p strategy.Phase) (most, used int) {
	if p.Kind != memory.SolveStep {
		if strategy.Kind(t.Strategy) == strategy.Branch {
			return max(1, d.a.MaxSteps/2), len(t.Of(""))
		}
		return d.a.MaxSteps, len(t.Of(""))
	}
	for _, st := range t.Of(memory.SolveStep) {
		if st.Branch == p.Branch {
			used++
		}
	}
	return max(1, d.a.MaxSteps/2/len(strategy.Angles)), used
}

// passWord is the word with which a check begins that finds nothing wrong.
var passWord = regexp.MustCompile(`(?i)^\W*PASS\b`)

// beside is the entry for what such a call wrote. When it failed, the turn goes on
// without it.
func beside(c Call, r llm.Response, s memory.Step) memory.Step {
	s.Thought = strings.TrimSpace(r.Text)
	if s.Thought == "" {
		s.Failed = true
	}
	if c.Phase == memory.ReflectStep {
		s.Pass = s.Failed || passWord.MatchString(s.Thought)
	}
	return s
}

// Missed is the entry for a call that failed and that the turn can do without;
// ok is false when it can't.
func (a *Agent) Missed(log *Log, c Call) (s memory.Step, ok bool) {
	s = memory.Step{Turn: c.Turn, N: c.N, Seen: c.Seen, Phase: c.Phase, Branch: c.Branch, Failed: true, Taint: c.Taint}
	if c.Phase == "" {
		// A further try, when there is an answer of the first.
		t := log.Thread.Open
		if t == nil || t.Answer() == "" || len(t.Of(memory.ReflectStep)) == 0 {
			return s, false
		}
		s.Phase = memory.ReflectStep
	}
	s.Pass = s.Phase == memory.ReflectStep
	return s, true
}

// Shorter is the trim for a prompt that was too long for the model, which may take less
// than the budget: it leaves out a good part of what was sent. ok is false where nothing
// more can be left out. It lasts, so that what the model takes is tried out once; what is
// sent grows again with the conversation.
func (a *Agent) Shorter(log *Log, c Call) (cut memory.Trimmed, ok bool) {
	d := a.on(log)
	d.branch = c.Branch
	saved := *d.s
	defer func() { *d.s = saved }()
	for _, b := range c.Before {
		d.s.Add(memory.Entry{Seq: d.s.Last, At: d.s.Now, Body: b})
	}
	return d.prompt().Shorter()
}

// Overdrawn is the entry for a call that was not made, since a limit is reached. An
// answer that would only have been checked, or tried again, is the answer.
func (a *Agent) Overdrawn(log *Log, c Call, why string) memory.Body {
	if t := log.Thread.Open; t != nil && t.Answer() != "" {
		if s, ok := a.Missed(log, c); ok {
			return s
		}
	}
	return memory.Failed{Turn: c.Turn, Seen: c.Seen, Reason: why}
}
