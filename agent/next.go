package agent

import (
	"fmt"
	"slices"
	"time"

	"nod/agent/approval"
	"nod/agent/do"
	"nod/agent/facts"
	"nod/agent/policy"
	"nod/agent/prompt"
	"nod/agent/schedules"
	"nod/agent/taint"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// Next says what to do next in a thread. It is a pure function of the log.
func (a *Agent) Next(log *Log) do.Action {
	d := a.on(log)
	for _, r := range rules {
		if act := r.says(d); act != nil {
			return act
		}
	}
	return do.Wait{Until: d.wakeAt()}
}

// A rule says what is to be done by the log, or nil.
type rule struct {
	name string
	says func(*decision) do.Action
}

// rules are asked in this order, and the first that has something to say is followed.
// Which neighbours may change places, and which conversation shows that others may not,
// stands in order_test.go.
var rules = slices.Concat(safety, decisions, drawing, progress)

// Safety comes first: it takes permissions away, and everything below would use them.
// A log that can't be read decides nothing, and no card of an older store; a stop ends what
// the others would go on with.
var safety = []rule{
	{"trouble", (*decision).trouble},
	{"prove", (*decision).prove},
	{"older", func(d *decision) do.Action { return records(d.approval().Older()) }},
	{"stop", (*decision).stop},
	{"revoking", (*decision).revoking},
	{"tightened", func(d *decision) do.Action { return records(d.approval().Tightened()) }},
}

// Decisions come before drawing, so that what is drawn is what was decided, and nobody
// who decided waits for a drawing. Votes that counted decide before later ones are
// judged; a change voids only what is not decided; time runs out after all who came in
// time were heard, and nobody is reminded of what expired. Then what was approved begins.
var decisions = []rule{
	{"asked", (*decision).asked},
	{"decide", func(d *decision) do.Action { return records(d.approval().Decide()) }},
	{"judge", (*decision).judge},
	{"changing", (*decision).changing},
	{"expire", func(d *decision) do.Action { return records(d.approval().Expire()) }},
	{"clocks", func(d *decision) do.Action { return records(d.approval().Clocks()) }},
	{"approved", (*decision).approved},
}

// Drawing comes before progress: people see what came of their words before the model,
// which takes long, is asked again. A card shows its state before anybody is called to
// it or told of it; what is to be forgotten is erased before a word of it is answered.
var drawing = []rule{
	{"edits", (*decision).edits},
	{"summons", (*decision).summons},
	{"notifying", func(d *decision) do.Action { return records(d.approval().Notify()) }},
	{"unwritten", (*decision).unwritten},
	{"forget", (*decision).forget},
	{"notices", (*decision).notices},
	{"restored", (*decision).restored},
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

// decision is one call of Next. Its methods are the rules; each gives nil when it has
// nothing to do.
type decision struct {
	agent  *Agent
	thread *thread.Thread
	log    *Log

	branch int  // the draft for which a prompt is made; 0: the turn itself
	held   bool // agent is that of the model that is asked, and not of the thread's
	past   bool // a prompt of long ago is made anew
}

// on begins a decision on a log.
func (a *Agent) on(log *Log) *decision { return &decision{agent: a, thread: log.Thread, log: log} }

func (d *decision) approval() approval.Case {
	return approval.Case{Thread: d.thread, Tools: d.tools(), Taint: d.taint(), Key: d.agent.Key, Clock: d.log.claim.Now, Since: d.log.claim.Since, Self: d.log.claim.Self, Silent: d.log.silent, Schedules: d.agent.Schedules, Zone: d.agent.zoneOf}
}

func (d *decision) prompt() prompt.Writer {
	a := d.agent
	return prompt.Writer{
		Thread: d.thread, Taint: d.taint(), Instructions: a.Instructions, Examples: a.Examples, Protocol: a.Protocol,
		Budget: a.Budget, Zone: a.Zone, Zones: a.Zones, Count: a.Count, Blind: a.Blind, Summary: a.Summary, Book: d.log.Book,
		Skills: policy.SkillLines(a.Skills),
	}
}

func (d *decision) schedules() schedules.Case {
	return schedules.Case{Thread: d.thread, Limits: d.agent.Schedules}
}

func (d *decision) facts() facts.Case {
	return facts.Case{Thread: d.thread, Book: d.log.Book, Limits: d.agent.Facts, Direct: d.log.claim.Direct}
}

func (d *decision) taint() taint.Watch {
	return taint.Watch{On: d.agent.Taint, Tools: d.tools(), Thread: d.thread, Draft: d.branch}
}

// records is the action that commits entries; nil where there are none.
func records(bodies []memory.Body) do.Action {
	if len(bodies) == 0 {
		return nil
	}
	return do.Record{Bodies: bodies}
}

// before says that an earlier run, which died, may have done what the entry made due.
func (d *decision) before(seq uint64) bool { return seq < d.log.claim.Since }

// trouble leaves a thread alone that has an entry which can't be read: its state is
// unknown. It says so once. Only `forget` helps.
func (d *decision) trouble() do.Action {
	t := d.thread.Broken
	if t == nil {
		return nil
	}
	for _, c := range d.thread.Inbox.Commands {
		if c.Word == "forget" {
			return do.Record{Bodies: []memory.Body{d.forgetEntry(c)}}
		}
	}
	name := fmt.Sprintf("trouble/%d", t.Seq)
	if !d.thread.Has(name) {
		return d.sayNotice(name, chat.MessageRef{}, textTrouble, t.Seq)
	}
	return do.Wait{}
}

// wakeAt is the earliest time to look at the thread again: a deadline or another clock of
// an approval, the end of a form or a question, or the end of a silent process.
func (d *decision) wakeAt() time.Time {
	var at time.Time
	sooner := func(t time.Time) { at = thread.Earlier(at, t) }
	if q := d.thread.AsksNow(); q != nil {
		sooner(q.Deadline())
	}
	for _, c := range d.thread.PendingCalls() {
		sooner(c.Deadline())
		sooner(c.RemindAt())
		sooner(c.EscalateAt())
	}
	for _, c := range d.thread.Folk.Schedules {
		next := c.Due()
		if !next.IsZero() && !next.After(d.thread.Now) { // it waits for the turn's end
			next = c.Plan.Next(d.thread.Now)
		}
		sooner(next)
	}
	if d.thread.Open == nil {
		return at
	}
	crowded, _ := d.approval().CrowdedAt()
	sooner(crowded)
	for _, c := range d.thread.Running() {
		if left, ok := d.approval().Patience(c); ok {
			sooner(d.thread.Now.Add(left))
		}
	}
	if last := d.thread.Open.LastStep(); last != nil {
		for _, c := range last.Calls {
			if c.Result == nil && c.Explained(d.thread.Now) {
				sooner(c.Votes.Ended.Add(thread.ExplainWithin))
			}
		}
	}
	return at
}
