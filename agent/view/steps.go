package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/phrase"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Steps is the view of a turn's steps.
func Steps(s *thread.Thread, t *thread.Turn, prices *Prices) chat.Steps {
	v := chat.Steps{Turn: t.Name, Version: s.Last, Done: t.Ended}
	for _, st := range t.Steps {
		v.Tokens.Prompt += st.Usage.Prompt
		v.Tokens.Cached += st.Usage.Cached
		v.Tokens.Completion += st.Usage.Completion
		v.Cost += prices.Cost(st.Usage, st.Model)
		v.Took += st.Took
		thought := shownThought(t, st)
		if st.Instead != "" {
			thought = strings.TrimSpace(thought + "\n(answered by " + st.Named + " (" + st.Instead + "))")
		}
		if len(st.Calls) == 0 && thought == "" {
			continue
		}
		item := chat.Step{Thought: thought}
		for _, c := range st.Calls {
			one := Call(c)
			one.Inquirer = s.Inquirer(c)
			item.Calls = append(item.Calls, one)
			if c.Result != nil {
				v.Took += c.Result.Took
			}
		}
		v.Items = append(v.Items, item)
	}
	v.Took += untilStopped(t)
	v.Status = Status(s, t)
	return v
}

// untilStopped is how long what a word to stop ended had been under way. No step and no
// result tells it.
func untilStopped(t *thread.Turn) time.Duration {
	last := t.LastStep()
	if t.Stopped == nil || last == nil {
		return 0
	}
	from := last.At
	for _, c := range last.Calls {
		switch {
		case c.Decided != nil && c.Decided.Outcome == chat.Cancelled, c.Run.Over.After(t.Over) && c.Started:
			return 0 // people were waited for, or its own time is counted
		case c.Result != nil && c.Run.Over.Before(t.Over) && c.Run.Over.After(from):
			from = c.Run.Over
		case c.Votes.Ended.After(from):
			from = c.Votes.Ended
		}
	}
	return max(0, t.Over.Sub(from))
}

// Prices is money per million tokens.
type Prices struct {
	Input, Cached, Output float64
	Models                map[string]*Prices // of other models, by the name at the provider
}

// Cost is what a call of a model cost; 0 without prices.
func (p *Prices) Cost(u llm.Usage, model string) float64 {
	if p != nil {
		if other, ok := p.Models[model]; ok {
			p = other
		}
	}
	if p == nil {
		return 0
	}
	const million = 1e6
	return (float64(u.Prompt-u.Cached)*p.Input + float64(u.Cached)*p.Cached + float64(u.Completion)*p.Output) / million
}

// Call is the view of a call.
func Call(c *thread.Call) chat.ToolCall {
	v := chat.ToolCall{ID: c.ID, Tool: c.Tool, Args: c.Args, State: chat.CallPlanned}
	switch {
	case c.Result != nil:
		v.State, v.Observation, v.Took = c.Result.State, c.Result.Text, c.Result.Took
	case c.Pending():
		v.State = chat.CallAsking
	case c.TurnedDown():
		v.State = chat.CallDenied
	default:
		v.State = chat.CallRunning
	}
	return v
}

// Status is the current step in a few words. A wait bears its own name.
func Status(s *thread.Thread, t *thread.Turn) string {
	switch running := s.Running(); {
	case t == s.Open && (t.Stopped != nil || t.Failed != nil) && len(running) > 0:
		return "Waiting for " + running[0].Tool + " to end"
	case t.Stopped != nil:
		return "Stopped"
	case t.Failed != nil:
		return "Failed"
	case t.Answered(s):
		return "Done"
	case t.LastStep() == nil:
		return thinkingStatus(t)
	}
	now := waits(s, t)
	if len(now) == 0 {
		return thinkingStatus(t)
	}
	return strings.Join(now, " · ")
}

// waits says what the calls of the last step wait for: first those that run.
func waits(s *thread.Thread, t *thread.Turn) (now []string) {
	var running, next, asking []string
	for _, c := range t.LastStep().Calls {
		switch {
		case c.Explained(s.Now):
			now = append(now, "Waiting for "+chat.Names(c.Decided.By)+"'s reason")
		case c.Result != nil, c.TurnedDown():
		case c.Pending():
			asking = append(asking, c.Tool)
		case s.Inquirer(c) != "":
			now = append(now, "Waiting for "+t.Requester.Display()+"'s answer to "+s.Inquirer(c))
		case c.WaitsToBegin() && len(s.Running()) > 0:
			next = append(next, c.Tool)
		case c.Run.Handle != nil && c.Run.Handle.Repeats:
			running = append(running, c.Tool+" at "+c.Run.Handle.Server)
		default:
			running = append(running, c.Tool)
		}
	}
	if len(running) > 0 {
		now = append([]string{"Running " + strings.Join(running, ", ")}, now...)
	}
	if len(next) > 0 {
		now = append(now, "then "+strings.Join(next, ", "))
	}
	if len(asking) > 0 {
		now = append(now, "Waiting for approval of "+strings.Join(asking, ", "))
	}
	return now
}

// Work is what a thread does, for the sign of work. It is zero where no turn goes on, or one
// ends: there is nothing to tell of the moment that is left.
func Work(s *thread.Thread) chat.Work {
	switch t := s.Open; {
	case t == nil && len(s.Inbox.Waiting) > 0:
		return chat.Work{What: "Thinking", On: s.Inbox.Waiting[0].Ref}
	case t == nil, t.Failed != nil, t.Stopped == nil && t.Answered(s):
		return chat.Work{}
	case t.Stopped != nil:
		return chat.Work{What: "Stopping", On: t.ReplyTo()}
	default:
		w := chat.Work{What: Status(s, t), On: t.ReplyTo()}
		if tasks := s.Tasks(); len(tasks) > 0 {
			w.Since = tasks[0].Run.Since
		}
		return w
	}
}

// Parked is what a thread shows while nothing runs in it: zero, or that it waits for people.
func Parked(s *thread.Thread) chat.Work {
	w := Work(s)
	if s.Open == nil || w.What == "" || s.Open.Stopped != nil {
		return chat.Work{}
	}
	for c := range s.Open.EachCall() {
		if c.Pending() || c.Explained(s.Now) {
			w.Waits = true
			return w
		}
	}
	return chat.Work{}
}

// thinkingStatus is the status while a model call runs.
func thinkingStatus(t *thread.Turn) string {
	switch p := strategy.Next(t); p.Kind {
	case memory.PlanStep:
		return "Planning"
	case memory.ReflectStep:
		return "Reflecting"
	case memory.SolveStep:
		return fmt.Sprintf("Writing draft %d of %d", p.Branch, len(strategy.Angles))
	}
	return "Thinking"
}

var phaseWords = map[memory.StepKind]string{
	memory.PlanStep: "plan", memory.ReflectStep: "check", memory.SolveStep: "draft",
}

// shownThought is the thought of a step as people read it.
func shownThought(t *thread.Turn, st *thread.Step) string {
	switch {
	case st.By != nil && t.Origin() != nil:
		return ranAgainText(t)
	case st.By != nil:
		return "Run by " + st.By.Display() + "."
	case st.Failed:
		return fmt.Sprintf("(The call for the %s failed; going on without it.)", phaseWords[st.Phase])
	case st.Phase == memory.PlanStep:
		return strategy.Checklist(t, st.Thought)
	case st.Phase == memory.ReflectStep && st.Pass:
		return "Checked: nothing is wrong."
	case st.Phase == memory.ReflectStep:
		return "Reflection: " + st.Thought
	case st.Phase == memory.SolveStep:
		return fmt.Sprintf("Draft %d of %d: %s", st.Branch, len(strategy.Angles), strings.TrimSpace(st.Thought+"\n"+st.Answer))
	}
	return strings.TrimSpace(strategy.DoneMark.ReplaceAllString(st.Thought, ""))
}

// ranAgainText tells people that a call took the place of another.
func ranAgainText(t *thread.Turn) string {
	text := ranText(t, func(s string) string { return s }) + ", in place of " + phrase.ShortArgs(t.From) + "."
	if len(t.Stays) > 0 {
		text += " What had run stays: " + phrase.WhatRan(t.Stays) + "."
	}
	return text
}

// textYou is the name of the person at the terminal, where the system has none.
const textYou = "you"

// ranText tells people that a person made the call.
func ranText(t *thread.Turn, quote func(string) string) string {
	st, verb := t.Steps[0], " ran "
	switch c := st.Calls[0]; {
	case c.Result == nil && st.By.Display() == textYou:
		verb = " run "
	case c.Result == nil:
		verb = " runs "
	case c.Result.State != chat.CallDone && c.Result.State != chat.CallFailed && c.Result.State != chat.CallUnknown:
		verb = " wanted to run "
	}
	return st.By.Display() + verb + quote(phrase.Brief(st.Calls[0].Tool)+" "+phrase.ShortArgs(st.Calls[0]))
}

// StepsOf gives the steps of a turn by its name in [chat.Steps]; "" is the newest turn
// with steps.
func StepsOf(entries []memory.Entry, turn string) (chat.Steps, bool) {
	s := thread.Read(entries)
	for _, t := range slices.Backward(s.Turns) {
		if turn == t.Name || turn == "" && t.Acts() {
			v := Steps(s, t, nil)
			offerAgain(s, v.Items)
			return v, true
		}
	}
	return chat.Steps{}, false
}

// offerAgain marks the calls that people may run again.
func offerAgain(s *thread.Thread, items []chat.Step) {
	for i := range items {
		for k := range items[i].Calls {
			c := s.Calls[items[i].Calls[k].ID]
			items[i].Calls[k].Again = c != nil && c.Object && s.Open == nil && BarsAgain(s, c) == ""
		}
	}
}

// BarsAgain says why a call can't be run again with other arguments; "" when it can.
func BarsAgain(s *thread.Thread, c *thread.Call) string {
	switch {
	case c == nil || c.Turn.ID < s.Trim.Before:
		return "I don't hold these steps any more; ask again"
	case !c.Turn.Ended:
		return "its turn is not over yet"
	}
	for t := s.LastTry(); t != nil; t = s.Turn(t.Again) {
		if t == c.Turn {
			return ""
		}
	}
	return "there is something newer in this thread; ask again there"
}

// WriteSteps writes out steps as Markdown.
func WriteSteps(v chat.Steps) string {
	var b strings.Builder
	n := 0 // as in `run 2 {…}`
	for _, st := range v.Items {
		if st.Thought != "" {
			fmt.Fprintf(&b, "**Thought** %s\n\n", st.Thought)
		}
		for _, c := range st.Calls {
			n++
			fmt.Fprintf(&b, "**Action %d** `%s`\n\n%s\n\n", n, c.Tool, speak.Fence(c.Args))
			if c.Observation != "" {
				fmt.Fprintf(&b, "**Observation** (%s)\n\n%s\n\n", c.State, speak.Fence(c.Observation))
			}
		}
	}
	return strings.TrimSpace(b.String())
}
