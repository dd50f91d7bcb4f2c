package agent

import (
	"fmt"
	"slices"
	"time"

	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// Awaits says whether the log still waits for what a call says: the turn did not
// go on otherwise meanwhile.
func (a *Agent) Awaits(log *Log, c Call) bool {
	s := log.Thread
	if t := s.Open; t != nil {
		opens := slices.ContainsFunc(c.Before, func(b memory.Body) bool { _, ok := b.(memory.Opened); return ok })
		return !opens && t.ID == c.Turn && len(t.Steps)+1 == c.N && t.Stopped == nil && t.Failed == nil
	}
	return slices.ContainsFunc(s.Inbox.Waiting, func(m *thread.Message) bool { return m.Seq == c.Turn })
}

// GiveUp is what ends a turn that can't be driven on; nothing when there is none.
func (a *Agent) GiveUp(log *Log) []memory.Body {
	s := log.Thread
	switch t := s.Open; {
	case t != nil && t.Failed == nil:
		return []memory.Body{memory.Failed{Turn: t.ID, Seen: s.Last, Reason: textGivenUp}}
	case t == nil && len(s.Inbox.Waiting) > 0:
		m, d := s.Inbox.Waiting[0], a.on(log)
		return []memory.Body{d.opened(m), memory.Failed{Turn: m.Seq, Seen: s.Last, Reason: textGivenUp}}
	}
	return nil
}

// named makes a name that no other claim makes.
func named(name, token string) string {
	if token == "" {
		return name
	}
	return name + "-" + token
}

// Step is the entry for a completion that came of c. The calls' ids come of the
// thread's own numbers and of the claim's token, and so never repeat.
func (a *Agent) Step(c Call, r llm.Response, took time.Duration) memory.Step {
	s := memory.Step{
		Turn: c.Turn, N: c.N, Seen: c.Seen, Phase: c.Phase, Branch: c.Branch,
		Usage: r.Usage, Estimate: c.Estimate, Took: took, Taint: c.Taint, Model: a.Model,
	}
	if c.Phase == memory.PlanStep || c.Phase == memory.ReflectStep {
		return beside(c, r, s)
	}
	said := a.Protocol.Read(c.Tools, r)
	s.Thought, s.Reasoned = said.Thought, said.Reasoned
	s.Answer, s.Marks = strategy.Unmarked(said.Answer)
	s.Cut, s.Withheld = r.Finish == llm.CutOff, r.Finish == llm.Withheld
	if len(c.Tools) == 0 && len(said.Calls) > 0 {
		// The model was told to answer, and asked for a tool all the same. What it
		// said besides may do; what it only thought is no answer.
		if s.Called = true; !said.Reasoned {
			s.Answer = said.Thought
		}
		return s
	}
	if len(said.Calls) > 0 {
		s.Echo = r.Echo
	}
	for i, k := range said.Calls[:min(len(said.Calls), mostRead)] {
		call := memory.Call{ID: named(fmt.Sprintf("%d-%d-%d", c.Turn, c.N, i+1), c.Token), Tool: k.Name, Args: k.Args}
		if raw, err := args.Native(k.Args); err == nil {
			call.Args, call.Object = string(raw), true
		}
		s.Calls = append(s.Calls, call)
	}
	return s
}
