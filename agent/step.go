package agent

import (
	"fmt"
	"time"

	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// Step is the entry for a completion that came of c. The calls' ids come of
// the thread's own numbers and so never repeat in it.
func (a *Agent) Step(c Call, r llm.Response, took time.Duration) memory.Step {
	s := memory.Step{
		Turn: c.Turn, N: c.N, Seen: c.Seen, Phase: c.Phase, Branch: c.Branch,
		Usage: r.Usage, Estimate: c.Estimate, Took: took,
	}
	if c.Phase == memory.PlanStep || c.Phase == memory.ReflectStep {
		return beside(c, r, s)
	}
	said := a.Protocol.Read(c.Tools, r)
	s.Thought, s.Reasoned = said.Thought, said.Reasoned
	s.Answer, s.Marks = unmarked(said.Answer)
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
	for i, k := range said.Calls {
		call := memory.Call{ID: fmt.Sprintf("%d-%d-%d", c.Turn, c.N, i+1), Tool: k.Name, Args: k.Args}
		if raw, err := args.Native(k.Args); err == nil {
			call.Args, call.Object = string(raw), true
		}
		s.Calls = append(s.Calls, call)
	}
	return s
}
