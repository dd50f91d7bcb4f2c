package sim

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/llm"
	"nod/memory"
)

// rule names a guarantee of nod, as the checker knows it.
type rule string

// The rules. What is exempt, and why, stands with the code of each.
const (
	ruleEvents   rule = "an event that was acknowledged is handled exactly once"
	ruleOneTurn  rule = "one turn at a time, in the order of the messages"
	ruleThreads  rule = "threads never see each other's memory"
	ruleOnce     rule = "a side effect happens at most once"
	ruleBegun    rule = "a side effect is in the log before it begins"
	ruleNoKill   rule = "only a person, its own timeout or its process ends a side effect"
	ruleUnknown  rule = "an outcome is called unknown only when it is"
	ruleCorrect  rule = "a result that comes after all is a correction"
	ruleSlots    rule = "a time of a schedule comes, and has one turn"
	ruleAlerts   rule = "an alert opens one turn, by what began it alone"
	ruleTasks    rule = "a call goes on at its server by its handle, ends once, and a stop ends it there"
	ruleAnswer   rule = "a turn that was accepted ends with an answer or a plain word"
	ruleResults  rule = "a model goes on once it has a result of all that it called"
	ruleHeard    rule = "what is said while nod is at work is heard"
	ruleRest     rule = "once the world is calm nothing is stuck"
	ruleSteps    rule = "once the world is calm no steps are shown as running"
	ruleCards    rule = "once the world is calm no card asks any more"
	ruleDrain    rule = "a process ends when it is told to"
	ruleApproved rule = "nothing that needs an approval runs without one"
	ruleShown    rule = "what runs is what was shown"
	ruleHidden   rule = "what cannot be shown to anybody is denied at once"
	ruleVotes    rule = "votes decide as the rules say"
	rulePosts    rule = "what is posted is posted once"
	ruleNames    rule = "names are never used twice"
	ruleStop     rule = "stop ends a turn"
	rulePanic    rule = "a mistake is one failed action, never the end of the process"
)

// failure is a guarantee that did not hold.
type failure struct {
	rule rule
	what string
	at   time.Duration
}

// checker states nod's guarantees in its own words. It looks at the people's, the
// platform's, the tools' and the log's view, and calls no rule of the engine.
type checker struct {
	w       *world
	failed  *failure
	nodes   map[string]*node
	quiet   map[string]quiet // by process: what somebody saw last who asked about it
	threads map[chat.ThreadID]*ledger
	order   []*ledger
	turns   int // that ended

	runs    []*execution
	byCall  map[string]*execution
	args    map[string]string // of every call that ever was in a log, by thread and call
	votes   map[chat.MessageRef][]vote
	doubted map[chat.UserID]bool // who could not be looked up
	hidden  map[string]bool      // calls whose cards the platform refused, by thread and call
	lost    bool                 // the store lost writes
	lostAt  time.Duration
	jumpsAt []time.Duration
}

// quiet is for how long nothing had been heard of a process at a time.
type quiet struct {
	at     time.Time
	length time.Duration
}

// vote is what somebody really did on a card.
type vote struct {
	by      chat.UserID
	emoji   string
	removed bool
	at      time.Duration
}

// goesOn names the run with which a call goes on.
const goesOn = "+"

// execution is one run of a side effect.
type execution struct {
	thread   chat.ThreadID
	call     string
	item     string
	tool     string
	by       *node
	at       time.Duration
	over     bool
	cut      bool
	known    bool // its outcome is in the log
	unlogged bool // the store had lost Started by then
}

func newChecker(w *world) *checker {
	return &checker{
		w: w, nodes: map[string]*node{}, quiet: map[string]quiet{}, threads: map[chat.ThreadID]*ledger{}, byCall: map[string]*execution{},
		args: map[string]string{}, votes: map[chat.MessageRef][]vote{},
		hidden: map[string]bool{}, doubted: map[chat.UserID]bool{},
	}
}

// fail notes that a guarantee did not hold; the first one counts.
func (c *checker) fail(r rule, format string, args ...any) {
	if c.failed == nil && r != c.w.without {
		c.failed = &failure{r, fmt.Sprintf(format, args...), c.w.since}
		c.w.logf("FAILED: %s: %s", r, c.failed.what)
	}
}

func (c *checker) ledger(id chat.ThreadID) *ledger {
	l := c.threads[id]
	if l == nil {
		l = &ledger{c: c, id: id}
		l.clear()
		c.threads[id] = l
		c.order = append(c.order, l)
	}
	return l
}

// asks notes a question that somebody asked.
func (c *checker) asks(q string, _ int, id chat.ThreadID) {
	l := c.ledger(id)
	l.questions = append(l.questions, &question{name: q, at: c.w.since})
}

func (c *checker) reacts(card *card, r chat.Reaction) {
	c.votes[card.ref] = append(c.votes[card.ref], vote{r.By.ID, r.Emoji, r.Removed, c.w.since})
}

func (c *checker) jumped() { c.jumpsAt = append(c.jumpsAt, c.w.since) }

func (c *checker) poisoned(id chat.ThreadID) { c.ledger(id).poisoned = true }

// mark is how far the logs are, for a store that will lose what comes after.
func (c *checker) mark() map[chat.ThreadID]int {
	out := map[chat.ThreadID]int{}
	for _, l := range c.order {
		out[l.id] = len(l.hist)
	}
	return out
}

// restored is told that the store is as it was at the mark.
func (c *checker) restored(mark map[chat.ThreadID]int) {
	c.lost, c.lostAt = true, c.w.since
	for _, l := range c.order {
		l.restore(mark[l.id])
	}
}

// appended hears of every entry that enters a log.
func (c *checker) appended(t *thread, entries []memory.Entry) {
	l := c.ledger(t.id)
	for _, e := range entries {
		c.w.logf("log %s %d %s %s", t.id.Root, e.Seq, e.Body.Kind(), brief(e.Body))
		c.inTime(t, e)
		if _, over := e.Body.(memory.Ended); over {
			c.turns++
		}
		l.hist = append(l.hist, e)
		l.add(e, true)
	}
}

// inTime checks that a message was not left lying. What names one, such as a
// reaction, may have waited until it was known.
func (c *checker) inTime(t *thread, e memory.Entry) {
	m, ok := e.Body.(memory.Message)
	if late := c.w.now().Sub(e.At); ok && c.w.faults == 0 && late > mostStop {
		c.fail(ruleHeard, "message %s waited for %v in the inbox of %s", m.Ref.ID, late, t.id.Root)
	}
}

func brief(b memory.Body) string {
	raw, err := json.Marshal(b) // %v would write addresses of what it points to
	if err != nil {
		return err.Error()
	}
	return string(raw[:min(len(raw), 300)])
}

// prompt checks a model's prompt: ids of questions name their thread.
func (c *checker) prompt(req llm.Request) {
	var of *ledger
	for _, m := range req.Messages {
		p, ok := parsePlan(m.Text)
		if !ok {
			continue
		}
		for _, l := range c.order {
			if l.question(p.q) == nil {
				continue
			}
			if of != nil && of != l {
				c.fail(ruleThreads, "a prompt holds %s of %s and questions of %s", p.q, l.id.Root, of.id.Root)
			}
			of = l
		}
	}
}

// begins hears that a tool begins.
func (c *checker) begins(n *node, d chat.Desk, call llm.Call, version int) *execution {
	spec := toolSpecs[call.Name]
	x := &execution{thread: d.Thread, call: call.ID, item: itemOf(call.Args), tool: call.Name, by: n, at: c.w.since}
	if d.Resumes != nil {
		x.call, x.item = x.call+goesOn, x.item+goesOn
	}
	c.w.logf("run %s %s %s by %s", call.Name, call.ID, call.Args, n.p.name)
	if spec.reads {
		return x
	}
	l := c.ledger(d.Thread)
	key := d.Thread.Root + "#" + x.call
	if old := c.byCall[key]; old != nil && (old.by == n || !c.forgot(old)) {
		c.fail(ruleOnce, "%s of %s ran at %v by %s and again now by %s", call.ID, x.item, old.at, old.by.p.name, n.p.name)
	}
	for _, old := range c.runs {
		if old.item == x.item && old.thread == x.thread && !c.forgot(old) && !l.amnesia {
			c.fail(ruleOnce, "%s ran at %v as %s and again now as %s", x.item, old.at, old.call, call.ID)
		}
	}
	c.runs = append(c.runs, x)
	c.byCall[key] = x
	c.w.began(n, x.item)
	k := l.calls[call.ID]
	if k == nil || k.started == nil {
		if !c.lost {
			c.fail(ruleBegun, "%s runs, and no log says so", call.ID)
		}
		x.unlogged = true // what said so was lost while the answer was on its way
		return x
	}
	if k.args != call.Args || k.tool != call.Name {
		c.fail(ruleShown, "%s runs with %s, and was %s", call.ID, call.Args, k.args)
	}
	if l.tooLate(k) {
		c.fail(ruleStop, "%s runs, and before it started somebody had asked to stop", call.ID)
	}
	if spec.asks {
		c.shown(l, k, call, version)
	}
	return x
}

// forgot says whether the store lost what it knew of a run: then it may come
// again, but not in the process that ran it, as that one remembers.
func (c *checker) forgot(x *execution) bool {
	return c.lost && (c.lostAt >= x.at || x.unlogged)
}

// lostSince says whether the store lost writes after that time, or so short before
// that a process may not have noticed.
func (c *checker) lostSince(at time.Time) bool {
	return c.lost && c.lostAt+time.Minute >= at.Sub(epoch)
}

// shown checks that what runs stood on a card, word for word.
func (c *checker) shown(l *ledger, k *call, run llm.Call, version int) {
	var card *card
	for _, o := range c.w.board.cards {
		if a := o.first.Approval; a != nil && o.thread == l.id && a.Call == run.ID && (k.card.IsZero() || o.ref == k.card) {
			card = o
		}
	}
	switch {
	case card == nil:
		c.fail(ruleShown, "%s runs, and no card showed it", run.ID)
	case !sameJSON(card.first.Approval.Args, run.Args) || card.first.Approval.Tool != run.Name:
		c.fail(ruleShown, "%s runs %s %s, and the card showed %s %s", run.ID, run.Name, run.Args, card.first.Approval.Tool, card.first.Approval.Args)
	case !c.really(card, k):
		c.fail(ruleApproved, "%s runs, and on its card not enough people approved", run.ID)
	}
	if shown, ok := c.w.editions[card]; ok && shown != version {
		c.fail(ruleShown, "%s runs with edition %d of the tool, and edition %d was asked for", run.ID, version, shown)
	}
}

// sameJSON says whether two texts are the same value, written in whatever way.
func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// really says whether as many people as it takes put an approval on the card.
func (c *checker) really(card *card, k *call) bool {
	spec := toolSpecs[k.tool]
	var who []chat.UserID
	for _, v := range c.votes[card.ref] {
		if !v.removed && yes(v.emoji) && !slices.Contains(who, v.by) && spec.may(v.by, k.requester) {
			who = append(who, v.by)
		}
	}
	return len(who) >= spec.quorum
}

func yes(emoji string) bool { return emoji == "✅" || emoji == "👍" }
func no(emoji string) bool  { return emoji == "❌" || emoji == "👎" }

// may says whether somebody is among the approvers.
func (s toolSpec) may(who, requester chat.UserID) bool {
	for _, a := range s.approvers {
		switch {
		case a == "anyone", a == "requester" && (who == requester || requester == "alert:"+pager && who == "Uben"), a == "user:"+string(who), strings.HasPrefix(a, "group:") && inGroup(who, a):
			return true
		}
	}
	return false
}

// ends hears that a tool is through, or was ended.
func (c *checker) ends(x *execution, err error) {
	x.over, x.cut = true, err != nil
	c.w.logf("ran %s (%v)", x.call, err)
	if err != nil && !toolSpecs[x.tool].reads && !(c.lost && strings.HasSuffix(x.call, goesOn)) { // else the store may have lost that it began
		c.fail(ruleNoKill, "%s was ended after %v", x.call, c.w.since-x.at)
	}
}

// posted checks a new card; old is an earlier one with its key. Two processes that both
// looked before either card stood may both post on a platform without nonces. A post
// that the store lost may be posted again.
func (c *checker) posted(n, old *card) {
	if old != nil {
		if !n.looked && !c.lostSince(old.at) {
			c.fail(rulePosts, "%s stands twice in %s, and nobody looked", n.key, n.thread.Root)
		}
		c.again(old, n.first)
	}
	if a := n.first.Approval; a != nil {
		c.w.editions[n] = c.w.edition(n.by)
		for _, o := range c.w.board.cards {
			if b := o.first.Approval; b != nil && o != n && o.thread == n.thread && b.Call == a.Call && b.Number == a.Number && b.Args != a.Args {
				c.fail(ruleNames, "two cards ask for %s: %s and %s", a.Call, b.Args, a.Args)
			}
		}
	}
	if p := n.first; p.Text != nil {
		c.ledger(n.thread).heard(n, p.Text)
	}
}

// refused hears that the platform takes a post in no form.
func (c *checker) refused(thread chat.ThreadID, p chat.Post) {
	if p.Approval != nil {
		c.hidden[thread.Root+"#"+p.Approval.Call] = true
	}
}

// spare says whether a card has a twin that says how it ended: of two that a
// platform without nonces can't help the log knows one.
func (c *checker) spare(n *card) bool {
	return slices.ContainsFunc(c.w.board.cards, func(o *card) bool {
		same := o != n && o.key == n.key && o.thread == n.thread && (o.looked || n.looked)
		return same && (o.shown.Approval != nil && o.shown.Approval.Outcome != "" || o.shown.Steps != nil && o.shown.Steps.Done)
	})
}

// again hears that a post gets an older one back for its key: it must show the
// same.
func (c *checker) again(old *card, p chat.Post) {
	a, b := old.first, p
	switch {
	case a.Text != nil && b.Text != nil && a.Text.Markdown != b.Text.Markdown:
		c.fail(ruleNames, "%s stands for %q and for %q", p.Key, a.Text.Markdown, b.Text.Markdown)
	case a.Approval != nil && b.Approval != nil && (a.Approval.Args != b.Approval.Args || a.Approval.Call != b.Approval.Call):
		c.fail(ruleNames, "%s asks for %s and for %s", p.Key, a.Approval.Args, b.Approval.Args)
	}
}
