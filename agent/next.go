package agent

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"nod/agent/approval"
	"nod/agent/prompt"
	"nod/agent/strategy"
	"nod/agent/taint"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/memory"
)

// Next says what to do next in a thread. It is a pure function of the log.
func (a *Agent) Next(log *Log) Action {
	d := a.on(log)
	for _, r := range rules {
		if act := r.says(d); act != nil {
			return act
		}
	}
	return Wait{Until: d.wakeAt()}
}

// A rule says what is to be done by the log, or nil.
type rule struct {
	name string
	says func(*decision) Action
}

// rules are asked in this order, and the first that has something to say is followed.
// Which neighbours may change places, and which conversation shows that others may not,
// stands in order_test.go.
var rules = slices.Concat(safety, decisions, drawing, progress)

// Safety comes first: it takes permissions away, and everything below would use them.
// A log that can't be read decides nothing; a stop ends what the others would go on with.
var safety = []rule{
	{"trouble", (*decision).trouble},
	{"stop", (*decision).stop},
	{"revoking", (*decision).revoking},
	{"tightened", func(d *decision) Action { return records(d.approval().Tightened()) }},
}

// Decisions come before drawing, so that what is drawn is what was decided, and nobody
// who decided waits for a drawing. Votes that counted decide before later ones are
// judged; a change voids only what is not decided; time runs out after all who came in
// time were heard, and nobody is reminded of what expired. Then what was approved begins.
var decisions = []rule{
	{"asked", (*decision).asked},
	{"decide", func(d *decision) Action { return records(d.approval().Decide()) }},
	{"judge", (*decision).judge},
	{"changing", (*decision).changing},
	{"expire", func(d *decision) Action { return records(d.approval().Expire()) }},
	{"clocks", func(d *decision) Action { return records(d.approval().Clocks()) }},
	{"approved", (*decision).approved},
}

// Drawing comes before progress: people see what came of their words before the model,
// which takes long, is asked again. A card shows its state before anybody is called to
// it or told of it; what is to be forgotten is erased before a word of it is answered.
var drawing = []rule{
	{"edits", (*decision).edits},
	{"summons", (*decision).summons},
	{"notifying", (*decision).notifying},
	{"unwritten", (*decision).unwritten},
	{"forget", (*decision).forget},
	{"notices", (*decision).notices},
	{"refusals", (*decision).refusals},
	{"corrections", (*decision).corrections},
}

// Progress comes last, for it makes more work for the others: the turn that runs, then
// the next one, then another try of one that is over. Nobody waits for the last two.
var progress = []rule{
	{"turn", (*decision).turn},
	{"opening", (*decision).opening},
	{"again", (*decision).again},
	{"askWhy", (*decision).askWhy},
	{"tidy", (*decision).tidy},
}

// decision is one call of Next. Its methods are the rules, each nil when it
// has nothing to say.
type decision struct {
	a   *Agent
	s   *thread.Thread
	log *Log

	branch int // the draft for which a prompt is made; 0: the turn itself
}

// on begins a decision on a log.
func (a *Agent) on(log *Log) *decision { return &decision{a: a, s: log.Thread, log: log} }

func (d *decision) approval() approval.Case {
	return approval.Case{Thread: d.s, Tools: d.a.Tools, Taint: d.taint(), Key: d.a.Key, Clock: d.log.claim.Now, Since: d.log.claim.Since}
}

// records is the action that commits entries; nil where there are none.
func records(bodies []memory.Body) Action {
	if len(bodies) == 0 {
		return nil
	}
	return Record{bodies}
}

func (d *decision) prompt() prompt.Writer {
	a := d.a
	return prompt.Writer{
		Thread: d.s, Taint: d.taint(), Instructions: a.Instructions, Examples: a.Examples, Protocol: a.Protocol,
		Budget: a.Budget, Zone: a.Zone, Zones: a.Zones, Count: a.Count, Blind: a.Blind, Summary: a.Summary,
	}
}

func (d *decision) taint() taint.Watch {
	return taint.Watch{On: d.a.Taint, Tools: d.a.Tools, Thread: d.s, Draft: d.branch}
}

// before says that what the entry made due may have been done by an earlier
// run, which died before it could say so.
func (d *decision) before(seq uint64) bool { return seq < d.log.claim.Since }

// trouble leaves a thread alone of which an entry can't be read, for nobody knows
// what it has come to. It says so once. Only `forget` helps.
func (d *decision) trouble() Action {
	t := d.s.Broken
	if t == nil {
		return nil
	}
	for _, c := range d.s.Inbox.Commands {
		if c.Word == "forget" {
			return Record{[]memory.Body{d.forgot(c)}}
		}
	}
	name := fmt.Sprintf("trouble/%d", t.Seq)
	if !d.s.Has(name) {
		return d.notice(name, chat.MessageRef{}, textTrouble, t.Seq)
	}
	return Wait{}
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

// acting brings the calls of a step further: first what needs no doing, then
// what people must be asked, then what may run; the model once all are done.
func (d *decision) acting(t *thread.Turn, last *thread.Step) Action {
	if last.By != nil {
		if act := d.identify(t); act != nil {
			return act
		}
	}
	if settled := d.settle(last); len(settled) > 0 {
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

// effect has a side effect begun. What somebody approved is one, whatever its tool
// says of itself.
func (d *decision) effect(c *thread.Call) Effect {
	tool, _ := d.a.Tools.Find(c.Tool)
	return Effect{Call: c.Call, Started: memory.Started{
		Call: c.ID, Tool: c.Tool, Digest: d.approval().Bound(c), By: d.log.claim.Self, Within: tool.Within(),
	}}
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
	if !slices.ContainsFunc(last.Calls, fresh) || len(d.settle(last)) > 0 {
		return nil
	}
	switch act := d.running(last).(type) {
	case Effect, Preview:
		return act
	}
	return nil
}

// answering posts the last step's answer, unless somebody wrote while it was
// made: then the model is called once more, and the answer was a draft. Once
// it may have been posted it is the answer.
func (d *decision) answering(t *thread.Turn, last *thread.Step) Action {
	if t.Answered(d.s) {
		return d.closing(t)
	}
	draft := t.Draft()
	heard := slices.ContainsFunc(t.Asked(), func(m *thread.Message) bool { return m.Seq > draft.Seen })
	most, used := d.limit(t, strategy.Phase{})
	more := used <= most
	switch {
	case heard && more && !d.before(last.Seq):
		return d.call(t, strategy.Phase{})
	case draft.Answer != "":
		if act := d.sharing(t, last); act != nil {
			return act
		}
		p := chat.Post{Key: memory.PostKey(t.AnswerName(), draft.Answer), ReplyTo: t.ReplyTo(), Text: view.Answer(d.s, t)}
		return Post{Post: p, Look: d.before(last.Seq), Then: d.unlessSteps(t)}
	case more && !t.EmptyTwice(), used == most+1 && draft.Evaded():
		return d.call(t, strategy.Phase{}) // after the last call once more, and plainly
	}
	reason := textNoAnswer(len(t.Steps))
	if draft.Thought != "" && more {
		reason = textStuck
	}
	return Record{[]memory.Body{memory.Failed{Turn: t.ID, Reason: reason, Seen: last.Seen}}}
}

// ending says why the turn ends without an answer, and then closes it.
func (d *decision) ending(t *thread.Turn, name, text string, due uint64) Action {
	if d.s.Has(name) {
		return d.closing(t)
	}
	p := d.notice(name, t.ReplyTo(), text, due)
	// A store that lost the end of a turn has it end again, and that is said again.
	p.Post.Key = memory.PostKey(name, text+t.Over.UTC().String())
	p.Then = d.unlessSteps(t)
	return p
}

// unlessSteps ends the turn along with its last post, when no steps message
// has to be folded after it.
func (d *decision) unlessSteps(t *thread.Turn) []memory.Body {
	if d.s.Has(t.StepsName()) || t.Acts() {
		return nil
	}
	return []memory.Body{memory.Ended{Turn: t.ID}}
}

// closing folds the steps message, if there is one, and ends the turn. Where more is
// asked the turn ends at once: a platform may take long to show an edit, and that
// holds nobody up.
func (d *decision) closing(t *thread.Turn) Action {
	ended := []memory.Body{memory.Ended{Turn: t.ID}}
	if !d.s.Unfolded(t) || d.heard(t) {
		return Record{ended}
	}
	fold := d.fold(t)
	fold.Then = ended
	return fold
}

// heard says whether something is asked that the turn is not about.
func (d *decision) heard(t *thread.Turn) bool {
	seen := t.DoneWith()
	return slices.ContainsFunc(t.Asked(), func(m *thread.Message) bool { return m.Seq > seen }) ||
		slices.ContainsFunc(d.s.Inbox.Waiting, func(m *thread.Message) bool { return !m.Deleted })
}

// fold shows the steps of a turn as they are in the end.
func (d *decision) fold(t *thread.Turn) Edit {
	steps := view.Steps(d.s, t, d.a.Prices)
	steps.Done = true
	p := chat.Post{Key: t.StepsName(), ReplyTo: t.ReplyTo(), Steps: &steps}
	return Edit{Ref: d.s.Posts.Refs[t.StepsName()], Post: p, Key: t.FoldName()}
}

// folds shows the steps of turns so that ended before that was done.
func (d *decision) folds() (out []Action) {
	for _, t := range d.s.Folding {
		out = append(out, d.fold(t))
	}
	return out
}

// Still gives what is not in the log by now of bodies that were to follow an action: a
// turn may have ended meanwhile, or was forgotten.
func (l *Log) Still(bodies []memory.Body) []memory.Body {
	return slices.DeleteFunc(slices.Clone(bodies), func(b memory.Body) bool {
		e, ok := b.(memory.Ended)
		t := l.Thread.Turn(e.Turn)
		return ok && (t == nil || t.Ended)
	})
}

// wakeAt is the earliest time at which something has to be looked at again: the
// deadline of an approval and its other clocks, the end of a form, or when a process that runs a call
// and says nothing has been silent for too long.
func (d *decision) wakeAt() time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if q := d.s.AsksNow(); q != nil {
		sooner(q.Deadline())
	}
	for _, c := range d.s.PendingCalls() {
		sooner(c.Deadline())
		for _, at := range []time.Time{c.RemindAt(), c.EscalateAt()} {
			if !at.IsZero() {
				sooner(at)
			}
		}
	}
	if d.s.Open == nil {
		return at
	}
	for _, c := range d.s.Running() {
		if left, ok := d.patience(c); ok {
			sooner(d.s.Now.Add(left))
		}
	}
	if last := d.s.Open.LastStep(); last != nil {
		for _, c := range last.Calls {
			if c.Result == nil && c.Explained(d.s.Now) {
				sooner(c.Votes.Ended.Add(thread.ExplainWithin))
			}
		}
	}
	return at
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
