package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"nod/agent/do"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// mostRead is how many calls of one completion are read.
const mostRead = 64

// Step is the entry for the completion of c. Ids of calls come of the thread's numbers and
// the claim's token, and so never repeat.
func (a *Agent) Step(c do.Call, r llm.Response, took time.Duration) memory.Step {
	a = a.As(c.Request.Model)
	s := memory.Step{
		Named: a.Name, Instead: c.Instead, Turn: c.Turn, N: c.N, Seen: c.Seen, Phase: c.Phase, Branch: c.Branch,
		Usage: r.Usage, Estimate: c.Estimate, Took: took, Taint: c.Taint, Model: a.Model, Served: r.Model,
	}
	if c.Phase == memory.PlanStep || c.Phase == memory.ReflectStep {
		return asideStep(c, r, s)
	}
	said := a.Protocol.Read(c.Tools, r)
	s.Thought, s.Reasoned, s.Written = said.Thought, said.Reasoned, said.Written
	s.Called = said.Written && len(c.Tools) == 0
	s.Answer, s.Marks = strategy.Unmarked(said.Answer)
	s.Cut, s.Withheld = r.Finish == llm.CutOff, r.Finish == llm.Withheld
	if len(c.Tools) == 0 && len(said.Calls) > 0 {
		// The model was told to answer, and asked for a tool all the same. Its other
		// words may be the answer; reasoning is none.
		if s.Called = true; !said.Reasoned {
			s.Answer = said.Thought
		}
		return s
	}
	if len(said.Calls) > 0 {
		s.Echo = r.Echo
	}
	for i, k := range said.Calls[:min(len(said.Calls), mostRead)] {
		k = a.Tools.Meant(k)
		call := memory.Call{ID: nameUnder(fmt.Sprintf("%d-%d-%d", c.Turn, c.N, i+1), c.Token), Tool: k.Name, Args: k.Args}
		if raw, err := args.Native(k.Args); err == nil {
			tool, _ := a.Tools.Find(k.Name)
			call.Args, call.Object = string(tool.Schema.Meant(raw)), true
		}
		s.Calls = append(s.Calls, call)
	}
	return s
}

// Shortened says whether the server read less than half of this prompt and of one before,
// up to the same length: Ollama cuts prompts at num_ctx without a word.
func Shortened(log *Log, s memory.Step) bool {
	half := func(s memory.Step) bool { return s.Usage.Prompt > 0 && 2*s.Usage.Prompt < s.Estimate }
	for _, t := range log.Thread.Turns {
		for _, st := range t.Steps {
			if half(s) && half(st.Step) && st.Usage.Prompt == s.Usage.Prompt {
				return true
			}
		}
	}
	return false
}

// passWord matches the beginning of a check that finds nothing wrong.
var passWord = regexp.MustCompile(`(?i)^\W*PASS\b`)

// asideStep is the entry for a plan or a check. The turn goes on without one that failed.
func asideStep(c do.Call, r llm.Response, s memory.Step) memory.Step {
	s.Thought = strings.TrimSpace(r.Text)
	if s.Thought == "" {
		s.Failed = true
	}
	if c.Phase == memory.ReflectStep {
		s.Pass = s.Failed || passWord.MatchString(s.Thought)
	}
	return s
}

// Awaits says whether the log still waits for the completion of a call.
func (a *Agent) Awaits(log *Log, c do.Call) bool {
	s := log.Thread
	if t := s.Open; t != nil {
		opens := slices.ContainsFunc(c.Before, func(b memory.Body) bool { _, ok := b.(memory.Opened); return ok })
		return !opens && t.ID == c.Turn && len(t.Steps)+1 == c.N && t.Stopped == nil && t.Failed == nil
	}
	return slices.ContainsFunc(s.Inbox.Waiting, func(m *thread.Message) bool { return m.Seq == c.Turn })
}

// GiveUp ends a turn that fails again and again; nothing when there is none.
func (a *Agent) GiveUp(log *Log) []memory.Body {
	s := log.Thread
	switch t := s.Open; {
	case t != nil && t.Failed == nil:
		return []memory.Body{memory.Failed{Turn: t.ID, Seen: s.Last, Reason: textGivenUp}}
	case t == nil && len(s.Inbox.Waiting) > 0:
		m, d := s.Inbox.Waiting[0], a.on(log)
		return []memory.Body{d.openedBy(m), memory.Failed{Turn: m.Seq, Seen: s.Last, Reason: textGivenUp}}
	}
	return nil
}

// Missed is the entry for a failed call that the turn can do without; ok is false when it
// can't.
func (a *Agent) Missed(log *Log, c do.Call) (s memory.Step, ok bool) {
	s = memory.Step{Turn: c.Turn, N: c.N, Seen: c.Seen, Phase: c.Phase, Branch: c.Branch, Failed: true, Taint: c.Taint}
	if c.Phase == "" {
		// A further try, when there is an answer of the first.
		t := log.Thread.Open
		if t == nil || t.Answer() == "" || len(t.StepsOf(memory.ReflectStep)) == 0 {
			return s, false
		}
		s.Phase = memory.ReflectStep
	}
	s.Pass = s.Phase == memory.ReflectStep
	return s, true
}

// Overdrawn is the entry for a call that a limit forbids. An answer that would only have
// been checked stands.
func (a *Agent) Overdrawn(log *Log, c do.Call, why string) memory.Body {
	if t := log.Thread.Open; t != nil && t.Answer() != "" {
		if s, ok := a.Missed(log, c); ok {
			return s
		}
	}
	return memory.Failed{Turn: c.Turn, Seen: c.Seen, Reason: why, Limited: true}
}
