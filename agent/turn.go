package agent

import (
	"slices"
	"strconv"

	"nod/agent/do"
	"nod/agent/strategy"
	"nod/agent/taint"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// opening starts a turn for waiting messages, and has times of schedules wait for one.
// Opened is committed with the first step: nothing before has to be known.
func (d *decision) opening() do.Action {
	if act := d.schedules().Begin(); act != nil {
		return act
	}
	waiting := slices.DeleteFunc(slices.Clone(d.thread.Inbox.Waiting), func(m *thread.Message) bool { return m.Deleted })
	if d.thread.Open != nil || len(waiting) == 0 {
		return nil
	}
	first := waiting[0]
	bodies := []memory.Body{d.openedBy(first)}
	if d.isIdle(first) {
		bodies = append([]memory.Body{d.prompt().Afresh(first)}, bodies...)
	}
	if o, ok := first.Order(); ok {
		return do.Record{Bodies: d.ordering(first, o, bodies)}
	}
	act := d.asIf(bodies)
	switch act := act.(type) {
	case do.Call:
		act.Before = append(bodies, act.Before...)
		return act
	case do.Recall:
		return act
	}
	return do.Record{Bodies: bodies}
}

// openedBy is the entry that opens a turn with a message.
func (d *decision) openedBy(m *thread.Message) memory.Opened {
	how, _ := strategy.Chosen(m.Text)
	if how == "" {
		how = d.agent.Strategy
	}
	if _, ok := m.Order(); ok || how == strategy.Straight {
		how = ""
	}
	return memory.Opened{Turn: m.Seq, Name: d.turnName(m.Seq, m.Ref), Requester: m.From, Strategy: string(how)}
}

// asIf says what the turn would do if the bodies were in the log.
func (d *decision) asIf(bodies []memory.Body) do.Action {
	defer d.suppose(bodies...)()
	return d.turn()
}

// suppose has the thread be as if the bodies were in the log, until undo is called.
func (d *decision) suppose(bodies ...memory.Body) (undo func()) {
	saved := *d.thread
	for _, b := range bodies {
		d.thread.Add(memory.Entry{Seq: d.thread.Last, At: d.thread.Now, Body: b})
	}
	return func() { *d.thread = saved }
}

// isIdle says whether the thread was silent so long before the message that it starts
// afresh.
func (d *decision) isIdle(m *thread.Message) bool {
	return d.agent.IdleReset > 0 && !d.thread.Active.IsZero() && m.At.Sub(d.thread.Active) > d.agent.IdleReset
}

// turnName is the name of a turn that opens now. It comes of the message that opens it: so
// a process that repeats the work of one that died has the same name, and finds its posts.
// Without a message it comes of the claim.
func (d *decision) turnName(turn uint64, by chat.MessageRef) string {
	if by.IsZero() {
		return nameUnder(strconv.FormatUint(turn, 10), d.log.claim.Token)
	}
	return nameUnder(strconv.FormatUint(turn, 10), memory.Short(by.String()))
}

// nameUnder makes a name that no other claim makes.
func nameUnder(name, token string) string {
	if token == "" {
		return name
	}
	return name + "-" + token
}

// turn brings the running turn one action further.
func (d *decision) turn() do.Action {
	t := d.thread.Open
	if t == nil {
		return nil
	}
	switch last := t.LastStep(); {
	case t.Stopped != nil:
		return d.stopTurn(t)
	case t.Failed != nil:
		if act := d.abandonTurn(t); act != nil || len(d.thread.Running()) > 0 {
			return act
		}
		return d.sayEnd(t, "failed/"+t.Name, t.Failed.Reason, t.Failed.Seen)
	case last == nil && len(t.Asked()) == 0 && t.Again == 0:
		return d.closeTurn(t)
	case last == nil:
		return d.callModel(t, strategy.Next(t))
	case len(last.Calls) > 0:
		return d.actOn(t, last)
	case last.Phase == "" && last.Answer != "" && d.wantsCheck(t):
		return d.callModel(t, strategy.Phase{Kind: memory.ReflectStep})
	case last.Phase == "" || last.Pass && t.Draft() != nil:
		return d.postAnswer(t, last)
	default:
		return d.callModel(t, strategy.Next(t))
	}
}

// callModel calls the model, with tools while the phase may still use them.
func (d *decision) callModel(t *thread.Turn, ph strategy.Phase) do.Action {
	if act := d.identify(t); act != nil {
		return act
	}
	if !d.past && d.log.claim.Facts == nil {
		if act := d.facts().Show(t); act != nil {
			return act
		}
	}
	d.branch = ph.Branch
	if !d.held {
		d.agent = d.agent.As(d.thinks(t))
	}
	p, before, estimate := d.prompt().Write()
	cut := d.thread.Trim
	if len(before) > 0 {
		cut, _ = before[0].(memory.Trimmed)
		if r, ok := d.prompt().Summarise(cut); ok {
			return do.Summarise{Cut: cut, By: t.Requester.ID, Request: r}
		}
	}
	if most, used := d.callLimit(t, ph); used >= most {
		p.LastCall = true
		p.Plainly = used > most && t.Draft().Evaded()
	}
	c := do.Call{
		Taint: d.taint().OfPrompt(cut), Before: before, Phase: ph.Kind, Branch: ph.Branch, Tools: p.Tools,
		Turn: t.ID, By: t.Requester.ID, N: len(t.Steps) + 1, Seen: d.thread.Last, Estimate: estimate, Token: d.log.claim.Token,
	}
	if ph.Kind == memory.PlanStep || ph.Kind == memory.ReflectStep {
		c.Request, c.Tools, c.Estimate = d.prompt().Aside(t, ph.Kind), nil, 0
		c.Request.Model = d.agent.Name
		return c
	}
	c.Request = d.agent.Protocol.Request(p)
	c.Request.Model = d.agent.Name
	if p.LastCall {
		c.Tools = nil
	}
	return c
}

// identify looks up the groups of the turn's people, before the model is called, where
// tools depend on them.
func (d *decision) identify(t *thread.Turn) do.Action {
	rules := d.groups()
	if len(rules) == 0 {
		return nil
	}
	var unknown []chat.UserID
	for _, u := range t.Senders(d.thread.Last) {
		if _, known := t.Belongs[u.ID]; !known && u.Alert() == "" {
			unknown = append(unknown, u.ID)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return do.Identify{Turn: t.ID, Who: unknown, Rules: rules}
}

// wantsCheck says whether a draft has to be checked before it is the answer.
func (d *decision) wantsCheck(t *thread.Turn) bool {
	last := t.LastStep()
	return strategy.Kind(t.Strategy) == strategy.Reflexion && last.Phase == "" && len(t.StepsOf(memory.ReflectStep)) < d.agent.Retries
}

// callLimit is how many calls of a phase may use tools, and how many did.
func (d *decision) callLimit(t *thread.Turn, p strategy.Phase) (most, used int) {
	if p.Kind != memory.SolveStep {
		if strategy.Kind(t.Strategy) == strategy.Branch {
			return max(1, d.agent.MaxSteps/2), len(t.StepsOf(""))
		}
		return d.agent.MaxSteps, len(t.StepsOf(""))
	}
	for _, st := range t.StepsOf(memory.SolveStep) {
		if st.Branch == p.Branch {
			used++
		}
	}
	return max(1, d.agent.MaxSteps/2/len(strategy.Angles)), used
}

// actOn brings the calls of a step further: settled ones first, then approvals, then runs;
// and the model once all are done.
func (d *decision) actOn(t *thread.Turn, last *thread.Step) do.Action {
	if last.By != nil {
		if act := d.identify(t); act != nil {
			return act
		}
	}
	if settled := d.approval().Settle(last); len(settled) > 0 {
		return do.Record{Bodies: settled}
	}
	if act := d.askPeople(t, last); act != nil {
		return act
	}
	if act := d.runPreviews(last, d.pickRuns(last)); act != nil {
		return act
	}
	if !slices.ContainsFunc(last.Calls, (*thread.Call).Unsettled) {
		if t.ByHand() {
			return d.reportCall(t, last)
		}
		return d.callModel(t, strategy.Next(t))
	}
	if !slices.ContainsFunc(last.Calls, (*thread.Call).Pending) {
		return nil
	}
	for _, m := range slices.Concat(t.Asked(), d.thread.Inbox.Waiting) {
		if m.Seq > last.Seen && !m.Marked && !m.Ref.IsZero() {
			return do.Mark{Ref: m.Ref, Message: m.Seq}
		}
	}
	return nil
}

// pickRuns picks the calls that run now: all reads at once, though only one that goes on
// where another stopped; or else the first side effect.
func (d *decision) pickRuns(last *thread.Step) do.Action {
	var reads []memory.Call
	var effect *thread.Call
	advancing := false
	running := slices.ContainsFunc(last.Calls, func(c *thread.Call) bool { return c.Started && c.Result == nil && !d.goesOn(c) })
	for _, c := range last.Calls {
		if c.Run.Handle != nil {
			if _, ready := d.thread.Resumed(c); c.Result != nil || !ready {
				continue
			}
			if effect == nil && d.goesOn(c) {
				effect = c
			} else if !d.goesOn(c) {
				reads = append(reads, c.Call)
			}
			continue
		}
		if c.Result != nil || c.Pending() || c.Started || c.Explained(d.thread.Now) || d.approval().Lapsed(c) || d.approval().MustAsk(c) {
			continue
		}
		switch tool, _ := d.agent.Tools.Find(c.Tool); {
		case tool.ReadOnly && c.Asked == nil && tool.Advances && advancing:
		case tool.ReadOnly && c.Asked == nil:
			reads = append(reads, c.Call)
			advancing = advancing || tool.Advances
		case effect == nil:
			effect = c
		}
	}
	if len(reads) > 0 {
		return do.Run{Calls: reads}
	}
	if effect == nil || running {
		return nil
	}
	if effect.Tool == thread.ScheduleTool {
		return d.schedules().MakeOf(effect, d.beginEffect(effect).Started)
	}
	if effect.Tool == thread.RememberTool {
		return d.facts().JotOf(effect, taint.FactSource(d.taint().OfCall(effect)), d.beginEffect(effect).Started)
	}
	if act := d.checkPreview(effect); act != nil && !effect.Started {
		return act
	}
	return d.beginEffect(effect)
}

// goesOn says whether a side effect goes on now that its server's questions are answered:
// at most once, as it began.
func (d *decision) goesOn(c *thread.Call) bool {
	_, ready := d.thread.Resumed(c)
	return c.Started && c.Result == nil && c.Run.Handle != nil && !c.Run.Handle.Repeats && ready
}

// approved begins an approved call before anything else is said or drawn, since its
// approvers wait for that.
func (d *decision) approved() do.Action {
	t := d.thread.Open
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
	switch act := d.pickRuns(last).(type) {
	case do.Effect, do.Preview, do.Schedule, do.Jot, do.Record:
		return act
	}
	return nil
}

// beginEffect begins a side effect. An approved call is one, even where its tool says that
// it only reads.
func (d *decision) beginEffect(c *thread.Call) do.Effect {
	tool, _ := d.agent.Tools.Find(c.Tool)
	return do.Effect{Call: c.Call, Started: memory.Started{
		Call: c.ID, Tool: c.Tool, Digest: d.approval().Bound(c), By: d.log.claim.Self, Within: tool.Within(),
	}}
}

// mostKept is how long a log may become before a thread at rest drops its beginning,
// although the budget would hold it. keepLast is what stays.
const (
	mostKept = 4000
	keepLast = 1000
)

// tidy drops the beginning of a log that only old commands and reactions make long.
func (d *decision) tidy() do.Action {
	s := d.thread
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
			cut.Before = min(cut.Before, thread.FirstOf(x[0].ID, x[0].Msgs))
		}
	}
	s.Carry(&cut)
	return do.Record{Bodies: []memory.Body{cut}}
}
