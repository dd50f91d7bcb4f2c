package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/facts"
	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// stage is a turn that is decided again: the recorded log, a journal in memory that
// continues it, and the recorded outcomes of calls.
type stage struct {
	lab      *Lab
	thread   chat.ThreadID
	rec      *Recorded
	log      *agent.Log
	last     uint64
	now      time.Time
	opened   bool   // the turn is in the log
	appended uint64 // messages up to here are in the log

	// ask gives the step that a model call comes to.
	ask  func(ctx context.Context, s *stage, act do.Call) (memory.Step, error)
	once bool // it ends where the model would be called again

	first   int // calls of earlier steps are no longer to be had
	served  map[*recordedCall]bool
	settled map[*recordedCall]bool // their decision was used
	waits   []waiting              // approvals that nobody has decided yet
	shown   map[string]bool        // calls that people were asked for, by id
	steps   int
	posts   int
	draft   string
	over    bool
	out     Outcome
}

// waiting is an approval that nobody has decided yet.
type waiting struct {
	memory.Asked
	digest  string // of the call as the model made it
	changed bool   // people have changed it as they did then
}

// word is in the names that are made here.
const word = "replay"

// mostActions ends an endless turn.
const mostActions = 100_000

func (l *Lab) stage(r *Recorded, seq uint64) *stage {
	log := r.upTo(seq)
	s := &stage{
		lab: l, thread: r.Thread, rec: r, log: agent.NewLog(log, agent.Claim{Token: word, Self: word, Facts: cmp.Or(r.Facts, &memory.Book{})}),
		last: seq, opened: seq >= r.seq, appended: seq, now: r.At,
		served: map[*recordedCall]bool{}, settled: map[*recordedCall]bool{}, shown: map[string]bool{},
	}
	if len(log) > 0 {
		s.now = log[len(log)-1].At
	}
	for _, e := range r.entries { // the facts that its first prompt showed
		if shown, ok := e.Body.(memory.Recalled); ok && e.Seq > seq && e.Seq < r.steps[0].seq {
			s.append(shown)
		}
	}
	return s
}

func (s *stage) append(bodies ...memory.Body) {
	for _, b := range bodies {
		s.last++
		switch b := b.(type) {
		case memory.Opened:
			s.opened = true
		case memory.Failed, memory.Stopped:
			s.over, s.draft = true, ""
		case memory.Ended:
			s.over = true
		case memory.Step:
			s.steps = b.N
			if b.Phase == "" {
				s.draft = b.Answer
			}
		case memory.Ran:
			s.steps = 1
			s.out.call(b.Call)
		}
		s.log.Append(memory.Entry{Seq: s.last, At: s.now, Body: b})
	}
}

// run performs the next action until the turn is over.
func (s *stage) run(ctx context.Context) (Outcome, error) {
	for range mostActions {
		if err := ctx.Err(); err != nil {
			return s.out, err
		}
		act := s.lab.Agent.Next(s.log)
		if _, ok := act.(do.Call); ok && s.once {
			break
		}
		err := s.perform(ctx, act)
		if errors.Is(err, errOver) {
			break
		}
		if err != nil {
			return s.out, err
		}
		if s.over {
			break
		}
	}
	s.out.Answer = s.draft
	return s.out, nil
}

func (s *stage) perform(ctx context.Context, act do.Action) error {
	switch act := act.(type) {
	case do.Record:
		s.append(act.Bodies...)
	case do.Open:
		for _, a := range act.Asked {
			s.openApproval(a)
		}
	case do.Judge:
		s.append(memory.Vote{Reaction: act.Seq, By: act.Reaction.By, Verdict: memory.Nothing})
	case do.Identify:
		s.identify(act)
	case do.Change: // who could do so then may do so now
		if b, ok := s.lab.Agent.Changed(s.log, act, func(string) (bool, error) { return true, nil }); ok {
			s.append(b)
		}
	case do.Call:
		return s.call(ctx, act)
	case do.Summarise:
		return s.summarise(ctx, act)
	case do.Run:
		for _, c := range act.Calls {
			s.append(s.result(c))
		}
	case do.Preview: // no program is run: it says the same before and after
		for _, c := range act.Calls {
			s.append(approval.Previewed(c, chat.Preview{}, 0))
		}
	case do.Effect:
		s.effect(act)
	case do.Schedule:
		s.made(append([]memory.Body{act.Made}, act.Then...))
	case do.Jot:
		bodies, _ := facts.Jotted(s.lab.Agent.Facts, act, &memory.Book{})
		s.made(bodies)
	case do.Post:
		s.post(act)
	case do.Edit:
		s.append(append([]memory.Body{memory.Posted{Key: act.Key}}, act.Then...)...)
	case do.Mark:
		s.append(memory.Seen{Message: act.Message})
	case do.AskWhy:
		s.append(memory.Posted{Key: act.Key})
	case do.Wait:
		s.decide()
	default:
		return fmt.Errorf("%w: it would %T", errUnfit, act)
	}
	return nil
}

// call makes a model call, and then appends the messages before the next one.
func (s *stage) call(ctx context.Context, act do.Call) error {
	if s.rec.stopped != nil && s.steps >= len(s.rec.steps) {
		s.stops()
		return nil
	}
	s.append(act.Before...)
	act.Seen = s.last
	st, err := s.ask(ctx, s, act)
	if err != nil {
		return err
	}
	for _, c := range st.Calls {
		s.out.call(c)
	}
	s.append(st)
	s.appendMessages()
	return nil
}

// appendMessages appends the messages that people wrote between this step and the next.
func (s *stage) appendMessages() {
	if s.once || s.steps > len(s.rec.steps) {
		return
	}
	upTo := s.rec.steps[s.steps-1].seq
	if s.steps < len(s.rec.steps) {
		upTo = max(upTo, s.rec.steps[s.steps].Seen)
	}
	if upTo > s.appended {
		s.append(s.rec.between(s.appended, upTo)...)
		s.appended = upTo
	}
}

// stops ends a turn where a person ended it then.
func (s *stage) stops() {
	s.append(memory.Stopped{Turn: s.rec.Turn, By: s.rec.stopped.By, Seen: s.last})
}

// open opens the turn as it was opened then.
func (s *stage) open() {
	for _, e := range s.rec.entries {
		if _, ok := e.Body.(memory.Trimmed); ok && e.Seq > s.appended && e.Seq < s.rec.seq {
			s.append(e.Body)
		}
	}
	s.append(s.rec.opened)
	if ran := s.rec.steps[0].ran; ran != nil {
		s.append(*ran)
	}
}

// summarise asks the model for a summary of trimmed turns. If its words are played
// back, the earlier summary stays.
func (s *stage) summarise(ctx context.Context, act do.Summarise) error {
	if s.lab.Mode == Rules {
		s.append(act.Cut)
		return nil
	}
	r, err := s.lab.complete(ctx, s.thread, act.Request)
	if err != nil {
		return err
	}
	s.out.usage = sum(s.out.usage, r.Usage)
	s.append(s.lab.Agent.Summarised(s.log, act, r))
	return nil
}

func (s *stage) openApproval(a memory.Asked) {
	s.append(a)
	w := waiting{Asked: a, digest: digest(memory.Call{})}
	if c := s.log.Thread.Calls[a.Call]; c != nil {
		w.digest = digest(c.Call)
	}
	s.out.countAsk(w.digest)
	s.shown[a.Call] = true
	s.waits = append(s.waits, w)
}

// decide ends the waiting approvals as people ended them then. An approval that nobody
// was asked for is given: the call did run.
func (s *stage) decide() {
	if len(s.waits) == 0 {
		s.over = true
		return
	}
	if s.changes() {
		return
	}
	for _, a := range s.waits {
		c := s.find(a.Tool, a.digest, s.settled, func(c *recordedCall) bool { return c.decided != nil })
		if c == nil {
			s.append(memory.Decided{Call: a.Call, Outcome: chat.Approved})
			continue
		}
		s.settled[c] = true
		if c.decided.Outcome == chat.Cancelled && s.rec.stopped != nil {
			s.stops()
			return
		}
		decided := *c.decided
		decided.Call = a.Call
		s.append(decided)
		s.grant(a.Asked, c.granted)
		if c.reason != nil {
			why := *c.reason
			why.Call = a.Call
			s.append(why)
		}
	}
	s.waits = nil
}

// grant allows a call for a while as people did then, as far as the rules that hold
// here let them.
func (s *stage) grant(a memory.Asked, then *memory.Granted) {
	caps := a.Rules.Grants
	if then == nil || caps.Most <= 0 {
		return
	}
	g := *then
	g.Number, g.Digest, g.Rules = a.Number, a.Digest, a.Rules
	g.For, g.Uses = min(g.For, caps.Most), min(g.Uses, caps.Uses)
	s.append(g)
}

// changes has people change the calls that wait as they changed them then, and says
// whether there were any.
func (s *stage) changes() (any bool) {
	for i, a := range s.waits {
		c := s.find(a.Tool, a.digest, s.settled, func(c *recordedCall) bool { return len(c.changes) > 0 })
		if c == nil || a.changed {
			continue
		}
		last := c.changes[len(c.changes)-1]
		s.append(memory.Change{Call: a.Call, By: last.By, Args: last.Args})
		s.waits[i].changed, any = true, true
	}
	return any
}

// effect takes a side effect for done, and notes whether anybody was asked.
func (s *stage) effect(act do.Effect) {
	if !s.shown[act.Call.ID] {
		free := Free{Call: callOf(act.Call)}
		if c := s.find(act.Call.Tool, digest(act.Call), s.settled, func(c *recordedCall) bool { return c.asked || !c.ran() }); c != nil {
			s.settled[c] = true
			free.Held = true
			if c.decided != nil {
				free.Decided = *c.decided
			}
		}
		s.out.unask(free)
	}
	s.append(act.Started, s.result(act.Call))
}

// made takes the entries that are all that a call does, with its recorded result.
func (s *stage) made(bodies []memory.Body) {
	for i, b := range bodies {
		r, ok := b.(memory.Result)
		if c := s.log.Thread.Calls[r.Call]; ok && c != nil {
			bodies[i] = s.result(c.Call)
		}
	}
	s.append(bodies...)
}

// result is the recorded result of a call: the first unused one of the same tool with
// the same arguments.
func (s *stage) result(c memory.Call) memory.Result {
	found := s.find(c.Tool, digest(c), s.served, (*recordedCall).ran)
	if found == nil {
		return memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallFailed, Text: NotRecorded}
	}
	s.served[found] = true
	r := *found.result
	r.Call = c.ID
	return r
}

func (s *stage) find(tool, digest string, not map[*recordedCall]bool, fits func(*recordedCall) bool) *recordedCall {
	for _, c := range s.rec.calls {
		if c.step >= s.first && c.is(tool, digest) && !not[c] && fits(c) {
			return c
		}
	}
	return nil
}

// post takes a post for posted. The answer is the end.
func (s *stage) post(act do.Post) {
	if strings.HasPrefix(act.Post.Key, "answer/") {
		s.over = true
		return
	}
	s.posts++
	ref := chat.MessageRef{Platform: s.thread.Platform, Channel: s.thread.Channel, ID: fmt.Sprintf("%s-%d", word, s.posts)}
	s.append(append([]memory.Body{memory.Posted{Key: act.Post.Key, Ref: ref}}, act.Then...)...)
}

// rename gives the calls of a step the ids that the same calls had.
func (s *stage) rename(st *memory.Step) {
	if st.N > len(s.rec.steps) {
		return
	}
	then := s.rec.steps[st.N-1].Calls
	for i := range st.Calls {
		if i < len(then) && digest(then[i]) == digest(st.Calls[i]) {
			st.Calls[i].ID = then[i].ID
		}
	}
}

func digest(c memory.Call) string { return args.Digest(c.Tool, json.RawMessage(c.Args)) }
