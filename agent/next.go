package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// Next says what to do next in a thread. It is a pure function of the log.
func (a *Agent) Next(log *Log) Action {
	d := decision{a: a, s: log.state, log: log}
	for _, r := range rules {
		if act := r.says(&d); act != nil {
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
	{"tightened", (*decision).tightened},
}

// Decisions come before drawing, so that what is drawn is what was decided, and nobody
// who decided waits for a drawing. Votes that counted decide before later ones are
// judged; a change voids only what is not decided; time runs out after all who came in
// time were heard, and nobody is reminded of what expired. Then what was approved begins.
var decisions = []rule{
	{"asked", (*decision).asked},
	{"decide", (*decision).decide},
	{"judge", (*decision).judge},
	{"changing", (*decision).changing},
	{"expire", (*decision).expire},
	{"clocks", (*decision).clocks},
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
	s   *state
	log *Log

	branch int // the draft for which a prompt is made; 0: the turn itself
}

// before says that what the entry made due may have been done by an earlier
// run, which died before it could say so.
func (d *decision) before(seq uint64) bool { return seq < d.log.claim.Since }

// trouble leaves a thread alone of which an entry can't be read, for nobody knows
// what it has come to. It says so once. Only `forget` helps.
func (d *decision) trouble() Action {
	t := d.s.broken
	if t == nil {
		return nil
	}
	for _, c := range d.s.commands {
		if c.word == "forget" {
			return Record{[]memory.Body{d.forgot(c)}}
		}
	}
	name := fmt.Sprintf("trouble/%d", t.seq)
	if !d.s.has(name) {
		return d.notice(name, chat.MessageRef{}, textTrouble, t.seq)
	}
	return Wait{}
}

// has says whether the post with this name was made, or never will be.
func (s *state) has(name string) bool { _, ok := s.posted[name]; return ok }

// turn brings the running turn one action further.
func (d *decision) turn() Action {
	t := d.s.open
	if t == nil {
		return nil
	}
	switch last := t.lastStep(); {
	case t.stopped != nil:
		return d.stopping(t)
	case t.failed != nil:
		if act := d.abandoning(t); act != nil || len(d.s.started()) > 0 {
			return act
		}
		return d.ending(t, "failed/"+t.name, t.failed.Reason, t.failed.Seen)
	case last == nil && len(t.asked()) == 0 && t.again == 0:
		return d.closing(t)
	case last == nil:
		return d.call(t, t.phase())
	case len(last.calls) > 0:
		return d.acting(t, last)
	case last.Phase == "" && last.Answer != "" && d.checks(t):
		return d.call(t, phase{kind: memory.ReflectStep})
	case last.Phase == "" || last.Pass && t.draft() != nil:
		return d.answering(t, last)
	default:
		return d.call(t, t.phase())
	}
}

// opening starts a turn for the messages that wait. Opened is committed with
// the first step: until then nothing was done that has to be known.
func (d *decision) opening() Action {
	waiting := slices.DeleteFunc(slices.Clone(d.s.waiting), func(m *message) bool { return m.deleted })
	if d.s.open != nil || len(waiting) == 0 {
		return nil
	}
	first := waiting[0]
	bodies := []memory.Body{d.opened(first)}
	if d.idle(first) {
		bodies = append([]memory.Body{d.afresh(first)}, bodies...)
	}
	if o, ok := first.order(); ok {
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
		d.s.add(memory.Entry{Seq: d.s.last, At: d.s.now, Body: b})
	}
	return d.turn()
}

// idle says whether the thread was silent so long before the message that it
// starts afresh.
func (d *decision) idle(m *message) bool {
	return d.a.IdleReset > 0 && !d.s.active.IsZero() && m.at.Sub(d.s.active) > d.a.IdleReset
}

// call has the model called, with tools while the phase may still use them.
func (d *decision) call(t *turn, ph phase) Action {
	if act := d.identify(t); act != nil {
		return act
	}
	d.branch = ph.branch
	p, before, estimate := d.prompt()
	if act := d.summarise(before); act != nil {
		return act
	}
	if most, used := d.limit(t, ph); used >= most {
		p.LastCall = true
		p.Plainly = used > most && t.draft().evaded()
	}
	cut := d.s.trim
	if len(before) > 0 {
		cut, _ = before[0].(memory.Trimmed)
	}
	c := Call{
		Taint: d.tainted(cut), Before: before, Phase: ph.kind, Branch: ph.branch, Tools: p.Tools,
		Turn: t.id, By: t.requester.ID, N: len(t.steps) + 1, Seen: d.s.last, Estimate: estimate, Token: d.log.claim.Token,
	}
	if ph.kind == memory.PlanStep || ph.kind == memory.ReflectStep {
		c.Request, c.Tools, c.Estimate = d.aside(t, ph), nil, 0
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
func (d *decision) acting(t *turn, last *step) Action {
	if last.by != nil {
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
	if !slices.ContainsFunc(last.calls, (*call).unsettled) {
		if t.byHand() {
			return d.reporting(t, last)
		}
		return d.call(t, t.phase())
	}
	if !slices.ContainsFunc(last.calls, (*call).pending) {
		return nil
	}
	for _, m := range slices.Concat(t.asked(), d.s.waiting) {
		if m.seq > last.Seen && !m.marked && !m.Ref.IsZero() {
			return Mark{Ref: m.Ref, Message: m.seq}
		}
	}
	return nil
}

// running picks what runs now: all read-only calls at once, though of those that
// go on where another stopped one at a time, or else the first side effect.
func (d *decision) running(last *step) Action {
	var reads []memory.Call
	var effect *call
	advancing := false
	running := slices.ContainsFunc(last.calls, func(c *call) bool { return c.started && c.result == nil })
	for _, c := range last.calls {
		if c.result != nil || c.pending() || c.started || c.explained(d.s.now) || d.lapsed(c) || d.mustAsk(c) {
			continue
		}
		switch tool, _ := d.a.tool(c.Tool); {
		case tool.ReadOnly && c.asked == nil && tool.Advances && advancing:
		case tool.ReadOnly && c.asked == nil:
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
func (d *decision) effect(c *call) Effect {
	tool, _ := d.a.tool(c.Tool)
	return Effect{Call: c.Call, Started: memory.Started{
		Call: c.ID, Tool: c.Tool, Digest: d.bound(c), By: d.log.claim.Self, Within: tool.within(),
	}}
}

// approved begins what was approved just now before anything else is said or
// drawn: whoever approved waits for that.
func (d *decision) approved() Action {
	t := d.s.open
	if t == nil || t.stopped != nil || t.failed != nil || t.lastStep() == nil {
		return nil
	}
	last := t.lastStep()
	fresh := func(c *call) bool {
		return c.decided != nil && c.decided.Outcome == chat.Approved && !c.started && c.result == nil
	}
	if !slices.ContainsFunc(last.calls, fresh) || len(d.settle(last)) > 0 {
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
func (d *decision) answering(t *turn, last *step) Action {
	if t.answered(d.s) {
		return d.closing(t)
	}
	draft := t.draft()
	heard := slices.ContainsFunc(t.asked(), func(m *message) bool { return m.seq > draft.Seen })
	most, used := d.limit(t, phase{})
	more := used <= most
	switch {
	case heard && more && !d.before(last.seq):
		return d.call(t, phase{})
	case draft.Answer != "":
		if act := d.sharing(t, last); act != nil {
			return act
		}
		p := chat.Post{Key: memory.PostKey(t.answerName(), draft.Answer), ReplyTo: t.replyTo(), Text: d.s.answerText(t)}
		return Post{Post: p, Look: d.before(last.seq), Then: d.unlessSteps(t)}
	case more && !t.emptyTwice(), used == most+1 && draft.evaded():
		return d.call(t, phase{}) // after the last call once more, and plainly
	}
	reason := textNoAnswer(len(t.steps))
	if draft.Thought != "" && more {
		reason = textStuck
	}
	return Record{[]memory.Body{memory.Failed{Turn: t.id, Reason: reason, Seen: last.Seen}}}
}

// emptyTwice says whether the last two completions held nothing at all.
func (t *turn) emptyTwice() bool {
	main := t.of("")
	n := len(main)
	return n > 1 && main[n-1].empty() && main[n-2].empty()
}

func (st *step) empty() bool { return st.Answer == "" && len(st.calls) == 0 }

// evaded says whether a completion held calls or reasoning instead of an answer.
func (st *step) evaded() bool { return st != nil && st.empty() && (st.Called || st.Reasoned) }

// answered says whether the turn's answer is on the platform.
func (t *turn) answered(s *state) bool { return s.has(t.answerName()) || s.has(t.reportName()) }

// ending says why the turn ends without an answer, and then closes it.
func (d *decision) ending(t *turn, name, text string, due uint64) Action {
	if d.s.has(name) {
		return d.closing(t)
	}
	p := d.notice(name, t.replyTo(), text, due)
	// A store that lost the end of a turn has it end again, and that is said again.
	p.Post.Key = memory.PostKey(name, text+t.over.UTC().String())
	p.Then = d.unlessSteps(t)
	return p
}

// unlessSteps ends the turn along with its last post, when no steps message
// has to be folded after it.
func (d *decision) unlessSteps(t *turn) []memory.Body {
	if d.s.has(t.stepsName()) || t.acts() {
		return nil
	}
	return []memory.Body{memory.Ended{Turn: t.id}}
}

// closing folds the steps message, if there is one, and ends the turn. Where more is
// asked the turn ends at once: a platform may take long to show an edit, and that
// holds nobody up.
func (d *decision) closing(t *turn) Action {
	ended := []memory.Body{memory.Ended{Turn: t.id}}
	if !d.s.unfolded(t) || d.heard(t) {
		return Record{ended}
	}
	fold := d.fold(t)
	fold.Then = ended
	return fold
}

// heard says whether something is asked that the turn is not about.
func (d *decision) heard(t *turn) bool {
	seen := t.doneWith()
	return slices.ContainsFunc(t.asked(), func(m *message) bool { return m.seq > seen }) ||
		slices.ContainsFunc(d.s.waiting, func(m *message) bool { return !m.deleted })
}

// unfolded says whether the steps of a turn stand there as if it ran.
func (s *state) unfolded(t *turn) bool {
	return !s.posted[t.stepsName()].IsZero() && !s.has(t.foldName())
}

// fold shows the steps of a turn as they are in the end.
func (d *decision) fold(t *turn) Edit {
	steps := d.s.steps(t, d.a.Prices)
	steps.Done = true
	p := chat.Post{Key: t.stepsName(), ReplyTo: t.replyTo(), Steps: &steps}
	return Edit{Ref: d.s.posted[t.stepsName()], Post: p, Key: t.foldName()}
}

// folds shows the steps of turns so that ended before that was done.
func (d *decision) folds() (out []Action) {
	for _, t := range d.s.folding {
		out = append(out, d.fold(t))
	}
	return out
}

// Still gives what is not in the log by now of bodies that were to follow an action: a
// turn may have ended meanwhile, or was forgotten.
func (l *Log) Still(bodies []memory.Body) []memory.Body {
	return slices.DeleteFunc(slices.Clone(bodies), func(b memory.Body) bool {
		e, ok := b.(memory.Ended)
		t := l.state.turn(e.Turn)
		return ok && (t == nil || t.ended)
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
	if q := d.s.asksNow(); q != nil {
		sooner(q.deadline())
	}
	for _, c := range d.s.pendingCalls() {
		sooner(c.deadline())
		for _, at := range []time.Time{c.remindAt(), c.escalateAt()} {
			if !at.IsZero() {
				sooner(at)
			}
		}
	}
	if d.s.open == nil {
		return at
	}
	for _, c := range d.s.started() {
		if left, ok := d.patience(c); ok {
			sooner(d.s.now.Add(left))
		}
	}
	if last := d.s.open.lastStep(); last != nil {
		for _, c := range last.calls {
			if c.result == nil && c.explained(d.s.now) {
				sooner(c.ended.Add(explainWithin))
			}
		}
	}
	return at
}

func (t *turn) replyTo() chat.MessageRef {
	for _, m := range t.msgs {
		if !m.Aside && m.form == nil {
			return m.Ref
		}
	}
	return t.to
}

func (t *turn) stepsName() string  { return "steps/" + t.name }
func (t *turn) foldName() string   { return t.stepsName() + "/done" }
func (t *turn) answerName() string { return "answer/" + t.name }

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
	if s.kept < mostKept || s.open != nil || len(s.waiting) > 0 {
		return nil
	}
	cut := s.trim
	cut.Before = s.last + 1
	from := s.last - keepLast
	for _, m := range s.asides {
		if m.seq >= from {
			cut.Before = min(cut.Before, m.seq)
		}
	}
	for _, x := range s.talk(s.trim) {
		if x[len(x)-1].id >= from {
			cut.Before = min(cut.Before, x[0].id)
		}
	}
	s.carry(&cut)
	return Record{[]memory.Body{cut}}
}

// digest binds an approval to the tool and to exactly these arguments.
func (c *call) digest() string {
	if c.sum == "" {
		c.sum = args.Digest(c.Tool, json.RawMessage(c.Args))
	}
	return c.sum
}
