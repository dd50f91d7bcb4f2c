package agent

import (
	"slices"
	"strconv"

	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// opening starts a turn for the messages that wait. Opened is committed with
// the first step: until then nothing was done that has to be known.
func (d *decision) opening() Action {
	waiting := slices.DeleteFunc(slices.Clone(d.s.Inbox.Waiting), func(m *thread.Message) bool { return m.Deleted })
	if d.s.Open != nil || len(waiting) == 0 {
		return nil
	}
	first := waiting[0]
	bodies := []memory.Body{d.opened(first)}
	if d.idle(first) {
		bodies = append([]memory.Body{d.prompt().Afresh(first)}, bodies...)
	}
	if o, ok := first.Order(); ok {
		return Record{d.ordering(first, o, bodies)}
	}
	act := d.asIf(bodies)
	if c, ok := act.(Call); ok {
		c.Before = append(bodies, c.Before...)
		return c
	}
	return Record{bodies}
}

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

// asIf says what the turn would do if the bodies were in the log.
func (d *decision) asIf(bodies []memory.Body) Action {
	saved := *d.s
	defer func() { *d.s = saved }()
	for _, b := range bodies {
		d.s.Add(memory.Entry{Seq: d.s.Last, At: d.s.Now, Body: b})
	}
	return d.turn()
}

// idle says whether the thread was silent so long before the message that it
// starts afresh.
func (d *decision) idle(m *thread.Message) bool {
	return d.a.IdleReset > 0 && !d.s.Active.IsZero() && m.At.Sub(d.s.Active) > d.a.IdleReset
}

// name is the name of a turn that opens now: that of what opens it, so that whoever takes
// it up again after a process that died has the same one, and finds what that one posted.
// Where that has no name, the claim's is taken.
func (d *decision) name(turn uint64, by chat.MessageRef) string {
	if by.IsZero() {
		return named(strconv.FormatUint(turn, 10), d.log.claim.Token)
	}
	return named(strconv.FormatUint(turn, 10), memory.Short(by.String()))
}

// named makes a name that no other claim makes.
func named(name, token string) string {
	if token == "" {
		return name
	}
	return name + "-" + token
}

// turn brings the running turn one action further.
func (d *decision) turn() Action {
	t := d.s.Open
	if t == nil {
		return nil
	}
	switch last := t.LastStep(); {
	case t.Stopped != nil:
		return d.stopping(t)
	case t.Failed != nil:
		if act := d.abandoning(t); act != nil || len(d.s.Running()) > 0 {
			return act
		}
		return d.ending(t, "failed/"+t.Name, t.Failed.Reason, t.Failed.Seen)
	case last == nil && len(t.Asked()) == 0 && t.Again == 0:
		return d.closing(t)
	case last == nil:
		return d.call(t, strategy.Next(t))
	case len(last.Calls) > 0:
		return d.acting(t, last)
	case last.Phase == "" && last.Answer != "" && d.checks(t):
		return d.call(t, strategy.Phase{Kind: memory.ReflectStep})
	case last.Phase == "" || last.Pass && t.Draft() != nil:
		return d.answering(t, last)
	default:
		return d.call(t, strategy.Next(t))
	}
}

// call has the model called, with tools while the phase may still use them.
func (d *decision) call(t *thread.Turn, ph strategy.Phase) Action {
	if act := d.identify(t); act != nil {
		return act
	}
	d.branch = ph.Branch
	p, before, estimate := d.prompt().Write()
	cut := d.s.Trim
	if len(before) > 0 {
		cut, _ = before[0].(memory.Trimmed)
		if r, ok := d.prompt().Summarise(cut); ok {
			return Summarise{Cut: cut, By: t.Requester.ID, Request: r}
		}
	}
	if most, used := d.limit(t, ph); used >= most {
		p.LastCall = true
		p.Plainly = used > most && t.Draft().Evaded()
	}
	c := Call{
		Taint: d.taint().OfPrompt(cut), Before: before, Phase: ph.Kind, Branch: ph.Branch, Tools: p.Tools,
		Turn: t.ID, By: t.Requester.ID, N: len(t.Steps) + 1, Seen: d.s.Last, Estimate: estimate, Token: d.log.claim.Token,
	}
	if ph.Kind == memory.PlanStep || ph.Kind == memory.ReflectStep {
		c.Request, c.Tools, c.Estimate = d.prompt().Aside(t, ph.Kind), nil, 0
		return c
	}
	c.Request = d.a.Protocol.Request(p)
	if p.LastCall {
		c.Tools = nil
	}
	return c
}

// identify asks who the people of a turn are, before the model is called, where a
// tool hangs on that.
func (d *decision) identify(t *thread.Turn) Action {
	rules := d.a.Tools.Groups()
	if len(rules) == 0 {
		return nil
	}
	var unknown []chat.UserID
	for _, u := range t.Senders(d.s.Last) {
		if _, known := t.Belongs[u.ID]; !known {
			unknown = append(unknown, u.ID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return Identify{Turn: t.ID, Who: unknown, Rules: rules}
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

// acting brings the calls of a step further: first what needs no doing, then
// what people must be asked, then what may run; the model once all are done.
func (d *decision) acting(t *thread.Turn, last *thread.Step) Action {
	if last.By != nil {
		if act := d.identify(t); act != nil {
			return act
		}
	}
	if settled := d.approval().Settle(last); len(settled) > 0 {
		return Record{settled}
	}
	if act := d.asking(t, last); act != nil {
		return act
	}
	if act := d.previewing(last, d.running(last)); act != nil {
		return act
	}
	if !slices.ContainsFunc(last.Calls, (*thread.Call).Unsettled) {
		if t.ByHand() {
			return d.reporting(t, last)
		}
		return d.call(t, strategy.Next(t))
	}
	if !slices.ContainsFunc(last.Calls, (*thread.Call).Pending) {
		return nil
	}
	for _, m := range slices.Concat(t.Asked(), d.s.Inbox.Waiting) {
		if m.Seq > last.Seen && !m.Marked && !m.Ref.IsZero() {
			return Mark{Ref: m.Ref, Message: m.Seq}
		}
	}
	return nil
}

// running picks what runs now: all read-only calls at once, though of those that
// go on where another stopped one at a time, or else the first side effect.
func (d *decision) running(last *thread.Step) Action {
	var reads []memory.Call
	var effect *thread.Call
	advancing := false
	running := slices.ContainsFunc(last.Calls, func(c *thread.Call) bool { return c.Started && c.Result == nil })
	for _, c := range last.Calls {
		if c.Result != nil || c.Pending() || c.Started || c.Explained(d.s.Now) || d.approval().Lapsed(c) || d.approval().MustAsk(c) {
			continue
		}
		switch tool, _ := d.a.Tools.Find(c.Tool); {
		case tool.ReadOnly && c.Asked == nil && tool.Advances && advancing:
		case tool.ReadOnly && c.Asked == nil:
			reads = append(reads, c.Call)
			advancing = advancing || tool.Advances
		case effect == nil:
			effect = c
		}
	}
	if len(reads) > 0 {
		return Run{reads}
	}
	if effect == nil || running {
		return nil
	}
	if act := d.looking(effect); act != nil {
		return act
	}
	return d.effect(effect)
}

// approved begins what was approved just now before anything else is said or
// drawn: whoever approved waits for that.
func (d *decision) approved() Action {
	t := d.s.Open
	if t == nil || t.Stopped != nil || t.Failed != nil || t.LastStep() == nil {
		return nil
	}
	last := t.LastStep()
	fresh := func(c *thread.Call) bool {
		return c.Decided != nil && c.Decided.Outcome == chat.Approved && !c.Started && c.Result == nil
	}
	if !slices.ContainsFunc(last.Calls, fresh) || len(d.approval().Settle(last)) > 0 {
		return nil
	}
	switch act := d.running(last).(type) {
	case Effect, Preview:
		return act
	}
	return nil
}

// effect has a side effect begun. What somebody approved is one, whatever its tool
// says of itself.
func (d *decision) effect(c *thread.Call) Effect {
	tool, _ := d.a.Tools.Find(c.Tool)
	return Effect{Call: c.Call, Started: memory.Started{
		Call: c.ID, Tool: c.Tool, Digest: d.approval().Bound(c), By: d.log.claim.Self, Within: tool.Within(),
	}}
}

// mostKept is how long a log may become before a thread at rest lets go of its
// beginning although the model's budget would hold it, and keepLast what stays:
// commands and reactions that are over, most of it.
const (
	mostKept = 4000
	keepLast = 1000
)

// tidy lets go of what a long log only holds because nothing made it shorter.
func (d *decision) tidy() Action {
	s := d.s
	if s.Kept < mostKept || s.Open != nil || len(s.Inbox.Waiting) > 0 {
		return nil
	}
	cut := s.Trim
	cut.Before = s.Last + 1
	from := s.Last - keepLast
	for _, m := range s.Inbox.Asides {
		if m.Seq >= from {
			cut.Before = min(cut.Before, m.Seq)
		}
	}
	for _, x := range s.Talk(s.Trim) {
		if x[len(x)-1].ID >= from {
			cut.Before = min(cut.Before, x[0].ID)
		}
	}
	s.Carry(&cut)
	return Record{[]memory.Body{cut}}
}
