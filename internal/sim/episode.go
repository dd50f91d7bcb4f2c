package sim

import (
	"fmt"
	"io"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// result is what came of an episode.
type result struct {
	failed *failure
	turns  int
	steps  int
	since  time.Duration
}

// Ceilings of an episode: beyond them it does not come to rest.
const (
	mostSteps = 200_000
	mostCalm  = 3 * time.Hour
)

// play plays a script on a scene: first with all that goes wrong, then until the
// world is at rest, then until every process has ended.
func play(sc scene, script []action, trace io.Writer) result {
	w := newWorld(sc, script, trace)
	for slot := range w.nodes {
		w.start(slot)
	}
	for _, a := range script {
		if !a.kind.follows() {
			w.after(a.at, nil, func() { w.play(a) })
		}
	}
	end := sc.length + 30*time.Second
	w.run(func() bool { return w.since < end })
	w.calmDown()
	limit := w.since + mostCalm
	if !w.run(func() bool { return w.since < limit }) {
		w.check.fail(ruleRest, "something goes on for %v", mostCalm)
	}
	w.check.rest()
	w.leave()
	return result{w.check.failed, w.check.turns, w.steps, w.since}
}

// run goes on while more says so; it reports whether nothing was left to do.
func (w *world) run(more func() bool) bool {
	for more() {
		if w.check.failed != nil {
			return false
		}
		if w.steps > mostSteps {
			w.check.fail(ruleRest, "the world does not come to rest")
			return false
		}
		if !w.step() {
			return true
		}
	}
	return len(w.due)+len(w.later) == 0
}

// calmDown ends all that goes wrong, in the course of half a minute, and starts
// what is not running.
func (w *world) calmDown() {
	w.logf("calm")
	w.calm = true
	w.loss, w.mumble, w.slow, w.repeats, w.silent = 0, 0, 0, 0, false
	for _, n := range w.nodes {
		if n != nil {
			n.p.fuse = 0
		}
	}
	for slot := range w.nodes {
		w.after(w.between(0, 30*time.Second), nil, func() { w.restart(slot, mostDrain) })
	}
}

// mostDrain is how long a process may take to end, in seconds: longer than any tool.
const mostDrain = 600

// restart starts a process in an empty slot, once a draining one is gone.
func (w *world) restart(slot, tries int) {
	switch n := w.nodes[slot]; {
	case n == nil:
		w.start(slot)
	case n.leaving && tries > 0:
		w.after(time.Second, nil, func() { w.restart(slot, tries-1) })
	case n.leaving:
		w.check.fail(ruleDrain, "%s does not end when it is told to", n.p.name)
		w.after(time.Second, nil, func() { w.restart(slot, mostDrain) }) // where that rule is left out
	}
}

// leave drains running processes, and unwinds the rest.
func (w *world) leave() {
	for _, n := range w.nodes {
		w.drain(n)
	}
	limit := w.since + mostDrain*time.Second
	w.run(func() bool { return w.since < limit })
	for _, n := range w.nodes {
		if n == nil {
			continue
		}
		if w.check.failed == nil {
			w.check.fail(ruleDrain, "%s does not end when it is told to", n.p.name)
		}
		n.p.kill()
	}
	for _, n := range w.check.nodes { // after a failure some are left
		n.p.kill()
	}
}

// rest checks what must be so once nothing happens any more.
func (c *checker) rest() {
	if c.failed != nil {
		return
	}
	c.restEvents()
	if !c.lost && len(c.jumpsAt) == 0 {
		c.restReactions()
	}
	for _, l := range c.order {
		if !l.poisoned {
			l.rest()
		}
	}
	for _, card := range c.w.board.cards {
		l := c.ledger(card.thread)
		if l.poisoned || c.spare(card) {
			continue
		}
		switch p := card.shown; {
		case p.Steps != nil && !p.Steps.Done && !c.lost:
			c.fail(ruleSteps, "the steps %s still say %q", card.ref.ID, p.Steps.Status)
		case p.Approval != nil && p.Approval.Outcome == "" && !c.lost:
			c.fail(ruleCards, "the card %s still asks", card.ref.ID)
		}
	}
}

// restEvents checks that whatever was acknowledged came in. A store that lost
// writes may have lost it too.
func (c *checker) restEvents() {
	for _, e := range c.w.events {
		m, ok := e.what.(chat.Message)
		if !ok || c.lost {
			continue
		}
		l := c.ledger(e.thread)
		switch _, in := l.messages[m.Ref.ID]; {
		case !e.acked:
			c.fail(ruleRest, "message %s was never taken in", m.Ref.ID)
		case !in:
			c.fail(ruleEvents, "message %s was acknowledged and is in no log", m.Ref.ID)
		}
	}
}

// restReactions checks that each reaction on a card that was acknowledged is in the
// log, once. A store keeps one that comes before its card is known for ten minutes;
// one that lost writes may have lost it too.
func (c *checker) restReactions() {
	want := map[string]int{}
	for _, e := range c.w.events {
		r, ok := e.what.(chat.Reaction)
		if !ok || !e.acked {
			continue
		}
		l := c.ledger(e.thread)
		known, ok := l.known[r.On]
		if !ok || known.Sub(epoch)-e.at > memory.RefWait-time.Minute || l.poisoned {
			continue
		}
		want[e.thread.Root+mark(r)]++
		if n := l.reacted[mark(r)]; n < want[e.thread.Root+mark(r)] {
			c.fail(ruleEvents, "%d of %d reactions %s on %s are in the log", n, want[e.thread.Root+mark(r)], r.Emoji, r.On.ID)
		}
	}
	for _, e := range c.w.events {
		r, ok := e.what.(chat.Reaction)
		if n := want[e.thread.Root+mark(r)]; ok && n > 0 && c.ledger(e.thread).reacted[mark(r)] > n+e.undelivered(c.w.events) {
			c.fail(ruleEvents, "%d reactions %s on %s are in the log, and there were %d", c.ledger(e.thread).reacted[mark(r)], r.Emoji, r.On.ID, n)
		}
	}
}

// undelivered counts the same events that nobody acknowledged: they may be in the
// log all the same.
func (e *event) undelivered(all []*event) (n int) {
	for _, o := range all {
		if !o.acked && o.thread == e.thread && o.what == e.what {
			n++
		}
	}
	return n
}

// rest checks a thread at rest.
func (l *ledger) rest() {
	c := l.c
	t := c.w.srv.byID[l.id]
	if t != nil && (len(t.inbox) > 0 || t.queued || t.holder != nil) {
		c.fail(ruleRest, "%s is not at rest: %d wait in its inbox, queued %v, held %v", l.id.Root, len(t.inbox), t.queued, t.holder != nil)
	}
	if l.open != 0 {
		c.fail(ruleRest, "turn %d of %s is still open", l.open, l.id.Root)
	}
	if len(l.planned) > 0 && !c.lost {
		c.fail(ruleSlots, "a schedule of %s never came", l.id.Root)
	}
	for _, q := range l.questions {
		if l.answered(q) {
			continue
		}
		c.fail(ruleAnswer, "%s of %s got neither an answer nor a word", q.name, l.id.Root)
	}
	for _, x := range c.runs {
		if x.thread == l.id && c.byCall[l.id.Root+"#"+x.call] == x && x.over && !x.known && !x.by.p.dead && !x.by.cutOff && !c.lost && l.forgot == 0 {
			c.fail(ruleCorrect, "%s ended, its process lived on, and the log does not know", x.call)
		}
	}
	for id, k := range l.calls {
		if k.started != nil && len(k.results) == 0 {
			c.fail(ruleRest, "%s of %s started, and nothing came of it", id, l.id.Root)
		}
		if l.owesCorrection(k) && l.corrected == 0 {
			c.fail(ruleCorrect, "%s ended after its outcome was unknown, and nobody was told", id)
		}
	}
}

// answered says whether a question got an answer, or a word after it. A deleted message
// needs none; the store may have lost others.
func (l *ledger) answered(q *question) bool {
	ref := l.c.w.asked[q.name]
	if q.excused || len(q.answers) > 0 || l.deleted[ref.ID] {
		return true
	}
	for _, n := range q.notices {
		if n.at.Sub(epoch) >= q.at && !strings.HasPrefix(n.first.Text.Markdown, "Switched") {
			return true
		}
	}
	return false
}

func (l *ledger) owesCorrection(k *call) bool {
	unknown := -1
	for i, r := range k.results {
		if r.State == chat.CallUnknown && unknown < 0 {
			unknown = i
		}
	}
	return unknown >= 0 && unknown < len(k.results)-1 && !l.c.lost && l.forgot == 0 && k.results[len(k.results)-1].State != chat.CallUnknown
}

// story is a failed episode as a conversation to read, and to play again.
func story(sc scene, script []action, f *failure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (after %v).\n\n", f.rule, f.what, f.at)
	fmt.Fprintf(&b, "-- scene --\n%+v\n", sc)
	for _, a := range script {
		b.WriteString(a.String())
	}
	fmt.Fprintf(&b, "-- want --\n%s\n", f.rule)
	return b.String()
}

var _ = memory.Forever
