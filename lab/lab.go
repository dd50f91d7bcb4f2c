// Package lab says from the log alone how another configuration would have decided.
// A recorded thread is a list of entries, and every decision is a function of it. So
// another [agent.Agent] can decide a turn again, up to the next model or tool call.
// The lab asks the model again, or plays its words back. It never runs a tool: the
// results are in the log.
//
// It knows no store and no platform, posts nothing, and keeps its own journal in
// memory. Its caller reads the threads.
package lab

import (
	"context"
	"errors"

	"nod/agent"
	"nod/agent/do"
	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// Mode is a way to replay a recorded turn.
type Mode string

// The modes.
const (
	Calls Mode = "calls" // ask each recorded model call again, with the recorded log before it
	Turns Mode = "turns" // whole turns run again, with recorded results
	Rules Mode = "rules" // play the model's words back, and decide again by the rules
)

// Lab is another configuration, to be held against recordings. It is used
// concurrently.
type Lab struct {
	Agent *agent.Agent
	Model llm.Model
	Mode  Mode
	// Blob gives the content of a recorded file, or memory.ErrNoBlob.
	Blob func(ctx context.Context, thread chat.ThreadID, name string) ([]byte, error)
}

// NotRecorded is the result of a call that the recording does not hold.
const NotRecorded = "not recorded"

// Replay decides a recorded turn again, and returns the differences. An error is the
// model's, or means that this build can't replay the turn.
func (l *Lab) Replay(ctx context.Context, r *Recorded) (Difference, error) {
	here := *l
	here.Agent = l.Agent.In(r.Place)
	l = &here
	var now Outcome
	var err error
	switch l.Mode {
	case Turns:
		now, err = l.turn(ctx, r)
	case Rules:
		now, err = l.rules(ctx, r)
	default:
		now, err = l.calls(ctx, r)
	}
	if err != nil {
		return Difference{}, err
	}
	d := Difference{Thread: r.Thread.String(), Turn: r.Turn, Old: r.outcome(), New: now}
	d.Old.Cost, d.New.Cost = l.Agent.Prices.Cost(d.Old.usage, ""), l.Agent.Prices.Cost(d.New.usage, "")
	if l.Mode == Rules { // the answers are the same by definition
		d.New.Answer, d.New.usage, d.New.Cost = d.Old.Answer, d.Old.usage, d.Old.Cost
	}
	d.compare()
	return d, nil
}

// turn runs a whole turn again.
func (l *Lab) turn(ctx context.Context, r *Recorded) (Outcome, error) {
	s := l.stage(r, r.begin())
	if r.opened.Again != 0 { // a reaction or a form opened it; the new rules may not know it
		s.open()
	}
	s.ask = l.askModel
	return s.run(ctx)
}

// rules plays the turn back, with the model's recorded words.
func (l *Lab) rules(ctx context.Context, r *Recorded) (Outcome, error) {
	s := l.stage(r, r.begin())
	s.open()
	s.ask = func(_ context.Context, s *stage, act do.Call) (memory.Step, error) {
		if act.N > len(r.steps) {
			return memory.Step{}, errOver
		}
		st := r.steps[act.N-1].Step
		st.Seen = act.Seen
		return st, nil
	}
	return s.run(ctx)
}

// calls asks every model call of a turn again, each with the recorded log before it.
func (l *Lab) calls(ctx context.Context, r *Recorded) (Outcome, error) {
	var all Outcome
	for i, st := range r.steps {
		if st.Failed {
			continue
		}
		from := st.Seen
		if !st.asked() {
			from = r.begin()
		}
		s := l.stage(r, from)
		s.first, s.ask = i, l.askModel
		if !s.opened {
			s.open()
		}
		if st.asked() { // else a person made the call
			act, ok := l.Agent.Anew(s.log, st.Phase, st.Branch)
			if !ok {
				return all, errUnfit
			}
			if err := s.call(ctx, act); err != nil {
				return all, err
			}
		}
		s.once = true
		one, err := s.run(ctx)
		if err != nil {
			return all, err
		}
		all.add(one)
		if st.Phase == "" {
			all.Answer = one.Answer
		}
	}
	return all, nil
}

// errOver says that the recording ends here; errUnfit that this build can't replay the
// turn.
var (
	errOver  = errors.New("the recording is over")
	errUnfit = errors.New("this turn can't be replayed by this build")
)

// ask asks the model. What it calls has the ids that the same calls had then, since
// they are in the prompt.
func (l *Lab) askModel(ctx context.Context, s *stage, act do.Call) (memory.Step, error) {
	r, err := l.complete(ctx, s.thread, act.Request)
	if err != nil {
		if missed, ok := l.Agent.Missed(s.log, act); ok && ctx.Err() == nil {
			return missed, nil
		}
		return memory.Step{}, err
	}
	s.out.usage = sum(s.out.usage, r.Usage)
	st := l.Agent.Step(act, r, 0)
	s.rename(&st)
	return st, nil
}

func (l *Lab) complete(ctx context.Context, thread chat.ThreadID, req llm.Request) (llm.Response, error) {
	for i, m := range req.Messages {
		var have []llm.Image
		for _, img := range m.Images {
			data, err := []byte(nil), memory.ErrNoBlob
			if l.Blob != nil {
				data, err = l.Blob(ctx, thread, img.Blob)
			}
			if err != nil && !errors.Is(err, memory.ErrNoBlob) {
				return llm.Response{}, err
			}
			if err == nil {
				have = append(have, llm.Image{MediaType: img.MediaType, Blob: img.Blob, Data: data})
			}
		}
		req.Messages[i].Images = have
	}
	req.Fair = thread.String()
	return l.Model.Complete(ctx, req, nil)
}

func sum(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		Prompt: a.Prompt + b.Prompt, Cached: a.Cached + b.Cached,
		Completion: a.Completion + b.Completion, Reasoning: a.Reasoning + b.Reasoning,
	}
}
