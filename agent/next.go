package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/llm/args"
	"nod/memory"
)

// Next says what to do next in a thread. It is a pure function of the log.
func (a *Agent) Next(log *Log) Action {
	d := decision{a: a, s: log.state, log: log}
	rules := []func() Action{
		d.trouble, d.stop, d.revoking, d.decide, d.judge, d.changing, d.expire, d.approved, d.edits, d.forget, d.notices, d.refusals, d.corrections,
		d.turn, d.opening, d.again, d.askWhy, d.tidy,
	}
	for _, rule := range rules {
		if act := rule(); act != nil {
			return act
		}
	}
	return Wait{Until: d.wakeAt()}
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

// stop ends the running turn when somebody asked for that. A turn that nobody
// began to work on is opened first, so that there is something to end.
func (d *decision) stop() Action {
	by, seen, ok := d.s.stopAsked()
	if !ok {
		return nil
	}
	if t := d.s.open; t != nil {
		return Record{[]memory.Body{memory.Stopped{Turn: t.id, By: by, Seen: seen}}}
	}
	m := d.s.waiting[0]
	return Record{[]memory.Body{
		memory.Opened{Turn: m.seq, Name: d.name(m.seq), Requester: m.From},
		memory.Stopped{Turn: m.seq, By: by, Seen: seen},
	}}
}

// Interrupted says whether somebody asked to stop what runs, so that it need not
// be waited for.
func (a *Agent) Interrupted(log *Log) bool {
	_, _, ok := log.state.stopAsked()
	return ok
}

// stopAsked finds the first word, button or emoji that asks to stop what runs
// now, and the last entry that is stopped with it.
func (s *state) stopAsked() (by chat.User, seen uint64, ok bool) {
	note := func(who chat.User, seq uint64) {
		if !ok {
			by = who
		}
		seen, ok = max(seen, seq), true
	}
	for _, c := range s.commands {
		if (c.word == "stop" || c.word == "forget") && s.stoppable(c.seq) {
			note(c.From, c.seq)
		}
	}
	for _, h := range s.halts {
		if s.stoppable(h.seq) {
			note(h.by, h.seq)
		}
	}
	for _, r := range s.reacts {
		if r.Emoji == chat.EmojiStop && !r.Removed && s.people[r.By.ID] && s.stoppable(r.seq) && s.inTurn(r.On) {
			note(r.By, r.seq)
		}
	}
	return by, seen, ok
}

// stoppable says whether something asked for at seq can end anything.
func (s *state) stoppable(seq uint64) bool {
	if t := s.open; t != nil {
		return t.stopped == nil && t.failed == nil && !t.answered(s) && t.id < seq
	}
	return len(s.waiting) > 0 && s.waiting[0].seq < seq
}

// inTurn says whether a message is one of the running turn's, or of those that
// wait for one, a person's or the bot's.
func (s *state) inTurn(ref chat.MessageRef) bool {
	msgs := s.waiting
	if s.open != nil {
		msgs = s.open.msgs
		for _, name := range s.open.posts() {
			if s.posted[name] == ref {
				return true
			}
		}
	}
	return slices.ContainsFunc(msgs, func(m *message) bool { return m.Ref == ref })
}

// posts lists the names of the posts that a turn can make before its answer.
func (t *turn) posts() []string {
	names := []string{t.stepsName()}
	for _, st := range t.steps {
		for _, c := range st.calls {
			names = append(names, memory.AskName(c.ID))
			if c.result != nil {
				for i := range c.result.Artifacts {
					names = append(names, fileName(c.ID, i))
				}
			}
		}
	}
	return names
}

// forget erases the thread once nothing runs.
func (d *decision) forget() Action {
	if d.s.open != nil {
		return nil
	}
	for _, c := range d.s.commands {
		if c.word == "forget" {
			return Record{[]memory.Body{d.forgot(c)}}
		}
	}
	return nil
}

func (d *decision) forgot(c *command) memory.Forgot {
	return memory.Forgot{By: c.From, Before: c.seq + 1, Horizon: c.Sent, Ref: c.Ref}
}

// notices answers the words that are commands.
func (d *decision) notices() Action {
	for _, f := range d.s.forgot {
		key := fmt.Sprintf("forgot/%d", f.seq)
		if !d.s.has(key) {
			return d.notice(key, f.Ref, textForgot, f.seq)
		}
	}
	for _, c := range d.s.commands {
		key := c.notice()
		if d.s.has(key) || c.word == "forget" || c.word == "edit" && d.changeReply(c) == "" || c.word == "stop" && d.s.stoppedBy(c.seq) {
			continue
		}
		if c.word == "waiting" {
			return d.list(c)
		}
		p := d.notice(key, c.Ref, d.reply(c), c.seq)
		p.Free = d.freed(c)
		return p
	}
	return nil
}

// refusals say what the platform did not take.
func (d *decision) refusals() Action {
	for _, r := range d.s.refused {
		name := "refused/" + r.name
		if strings.HasPrefix(r.name, "refused/") || strings.HasPrefix(r.name, "steps/") || d.s.has(name) {
			continue
		}
		return d.notice(name, chat.MessageRef{}, r.why, r.seq)
	}
	return nil
}

// corrections say what came of calls after all.
func (d *decision) corrections() Action {
	for _, c := range d.s.late {
		name := "correction/" + c.Call
		if d.s.has(name) {
			continue
		}
		return d.notice(name, chat.MessageRef{}, textCorrection(c.Result), c.seq)
	}
	return nil
}

func (s *state) stoppedBy(seq uint64) bool {
	return slices.ContainsFunc(s.turns, func(t *turn) bool {
		return t.stopped != nil && t.id < seq && seq <= t.stopped.Seen
	})
}

func (d *decision) notice(name string, to chat.MessageRef, text string, due uint64) Post {
	p := chat.Post{Key: memory.PostKey(name, text), ReplyTo: to, Text: &chat.Text{Markdown: text, Notice: true}}
	return Post{Post: p, Look: d.before(due)}
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
		return d.ending(t, "failed/"+t.name, t.failed.Reason, t.failed.Seen)
	case last == nil && len(t.asked()) == 0 && t.again == 0:
		return d.closing(t)
	case last == nil:
		return d.call(t, t.phase())
	case len(last.calls) > 0:
		return d.acting(t, last)
	case last.Phase == "" && last.Answer != "" && d.checks(t):
		return d.call(t, phase{kind: memory.ReflectStep})
	case last.Phase == "" || last.Pass:
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
	if settled := d.settle(last); len(settled) > 0 {
		return Record{settled}
	}
	if act := d.asking(t, last); act != nil {
		return act
	}
	if act := d.running(last); act != nil {
		return act
	}
	if !slices.ContainsFunc(last.calls, (*call).unsettled) {
		return d.call(t, t.phase())
	}
	if !slices.ContainsFunc(last.calls, (*call).pending) {
		return nil
	}
	for _, m := range t.asked() {
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
		if c.result != nil || c.pending() || c.started || c.explained(d.s.now) {
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
	if act, ok := d.running(last).(Effect); ok {
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
		p := chat.Post{Key: memory.PostKey(t.answerName(), draft.Answer), ReplyTo: t.replyTo(), Text: &chat.Text{Markdown: draft.shown()}}
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
func (t *turn) answered(s *state) bool { return s.has(t.answerName()) }

// stopping cancels what the stopped turn still had to do, and says so.
func (d *decision) stopping(t *turn) Action {
	var bodies []memory.Body
	for _, st := range t.steps {
		for _, c := range st.calls {
			bodies = append(bodies, d.cancel(c)...)
		}
	}
	if len(bodies) > 0 {
		return Record{bodies}
	}
	if slices.ContainsFunc(d.s.started(), func(*call) bool { return true }) {
		return nil // only a person's own means end a side effect: it is waited for
	}
	return d.ending(t, "stopped/"+t.name, textStopped(t.stopped.By), t.stopped.Seen)
}

func (d *decision) cancel(c *call) []memory.Body {
	switch {
	case c.result != nil:
		return nil
	case c.started:
		if r, ok := d.lost(c); ok {
			return []memory.Body{r}
		}
		return nil
	case c.pending():
		return []memory.Body{
			memory.Decided{Call: c.ID, Outcome: chat.Cancelled, By: []chat.User{c.turn.stopped.By}},
			memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: textCancelled},
		}
	}
	return []memory.Body{memory.Result{Call: c.ID, Tool: c.Tool, State: chat.CallCancelled, Text: textCancelled}}
}

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

// closing folds the steps message, if there is one, and ends the turn.
func (d *decision) closing(t *turn) Action {
	ended := []memory.Body{memory.Ended{Turn: t.id}}
	ref := d.s.posted[t.stepsName()]
	if ref.IsZero() {
		return Record{ended}
	}
	steps := d.s.steps(t, d.a.Prices)
	steps.Done = true
	p := chat.Post{Key: t.stepsName(), ReplyTo: t.replyTo(), Steps: &steps}
	return Edit{Ref: ref, Post: p, Key: t.stepsName() + "/done", Then: ended}
}

// wakeAt is the earliest time at which something has to be looked at again: the
// deadline of an approval, the end of a form, or when a process that runs a call
// and says nothing has been silent for too long.
func (d *decision) wakeAt() time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for _, c := range d.s.pendingCalls() {
		sooner(c.deadline())
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
		if !m.Aside {
			return m.Ref
		}
	}
	return chat.MessageRef{}
}

func (t *turn) stepsName() string  { return "steps/" + t.name }
func (t *turn) answerName() string { return "answer/" + t.name }

// name is the name of a turn that opens now.
func (d *decision) name(turn uint64) string {
	return named(strconv.FormatUint(turn, 10), d.log.claim.Token)
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
	for _, t := range s.turns {
		if t.id >= from {
			cut.Before = min(cut.Before, t.id)
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
