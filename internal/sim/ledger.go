package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// ledger is what the checker knows of one thread.
type ledger struct {
	c         *checker
	id        chat.ThreadID
	hist      []memory.Entry // all that ever entered the log, and that the store did not lose
	questions []*question
	poisoned  bool // it holds an entry that can't be read
	corrected int  // posts that say so
	amnesia   bool // the model is not shown all that the turn has done: it may ask for it again

	// Indexes over hist.
	messages  map[string]uint64 // by id of the message: where it is
	deleted   map[string]bool
	calls     map[string]*call
	asked     []*call
	open      uint64
	wiped     uint64          // was open when the thread, which can no more be read, was forgotten
	done      map[uint64]bool // turns
	last      uint64          // the latest turn that was opened
	openBy    chat.UserID
	authors   []chat.UserID // whose messages are in the turn
	behind    bool          // what comes now is in a later one
	horizon   time.Time     // of the last forget: what was sent before it is nobody's message any more
	stopped   bool
	forgot    uint64
	reacted   map[string]int                // reactions
	unsure    map[uint64]bool               // votes with an unknown membership
	known     map[chat.MessageRef]time.Time // cards, since when they are in the log
	asksStop  time.Time                     // the latest word to stop
	stopsIn   uint64                        // the turn in which somebody who takes part said so
	stopHeard time.Duration                 // when that entered the log
	people    map[chat.UserID]bool          // who wrote since the thread was forgotten
	planned   map[int]uint64                // schedules whose time has not come yet, by number: Seq
	came      map[string]bool               // times of schedules
}

// question is one that somebody asked.
type question struct {
	name    string
	at      time.Duration
	answers []*card
	notices []*card
	excused bool
}

// call is a tool call of a log.
type call struct {
	id, tool, args string
	requester      chat.UserID
	turn           uint64
	askedAt        time.Time
	digest, name   string // of the latest time that it was asked for
	card           chat.MessageRef
	votes          []memory.Entry // reactions on the card
	decided        *memory.Decided
	started        *memory.Started
	begun          time.Duration // when that entered the log
	results        []memory.Result
	held           *chat.Handle // of the server at which it goes on
	handles        []string     // all that it had
}

func (l *ledger) clear() {
	l.messages, l.deleted, l.calls, l.done = map[string]uint64{}, map[string]bool{}, map[string]*call{}, map[uint64]bool{}
	l.people, l.unsure, l.stopsIn = map[chat.UserID]bool{}, map[uint64]bool{}, 0
	l.reacted, l.known, l.asksStop = map[string]int{}, map[chat.MessageRef]time.Time{}, time.Time{}
	l.horizon, l.planned, l.came = time.Time{}, map[int]uint64{}, map[string]bool{}
	l.asked, l.open, l.last, l.stopped, l.forgot, l.authors, l.openBy, l.behind = nil, 0, 0, false, 0, nil, "", false
}

// restore goes back to what the store still knows.
func (l *ledger) restore(n int) {
	hist := l.hist[:n]
	l.clear()
	for _, e := range hist {
		l.add(e, false)
	}
	l.hist = slices.Clone(hist)
	for _, q := range l.questions {
		q.excused = true // what was acknowledged may be lost with the rest
	}
}

func (l *ledger) question(name string) *question {
	for _, q := range l.questions {
		if q.name == name {
			return q
		}
	}
	return nil
}

// heard notes what a post answers.
func (l *ledger) heard(n *card, t *chat.Text) {
	words := strings.Fields(t.Markdown)
	if strings.HasPrefix(t.Markdown, "It did end:") {
		l.corrected++
	}
	for _, q := range l.questions {
		switch {
		case !t.Notice && slices.Contains(words, q.name):
			q.answers = append(q.answers, n)
			if len(q.answers) == 1 {
				l.c.w.answered(q.name)
			}
			if len(q.answers) > 1 && !l.c.lost && !n.looked {
				l.c.fail(rulePosts, "%s is answered twice: %s and %s", q.name, q.answers[0].key, n.key)
			}
		case t.Notice:
			q.notices = append(q.notices, n)
		}
	}
}

// add reads an entry. With strict it must be what may come next.
func (l *ledger) add(e memory.Entry, strict bool) {
	fail := func(r rule, format string, args ...any) {
		if strict {
			l.c.fail(r, l.id.Root+": "+format, args...)
		}
	}
	switch b := e.Body.(type) {
	case memory.Message:
		if at, ok := l.messages[b.Ref.ID]; ok && at > l.forgot {
			fail(ruleEvents, "message %s is in the log at %d and %d", b.Ref.ID, at, e.Seq)
		}
		l.messages[b.Ref.ID] = e.Seq
		if b.Sent.Before(l.horizon) {
			break // nobody's message any more
		}
		l.people[b.From.ID] = true
		if b.Text == "stop" || b.Text == "forget" {
			l.asksStop, l.stopsIn, l.stopHeard = e.At, l.open, l.c.w.since
		}
		l.behind = l.behind || b.Alert != nil && b.Alert.As == memory.AlertBegins && l.open > 0
		if l.open > 0 && asksSomething(b) && !l.behind {
			l.authors = append(l.authors, b.From.ID)
		}
	case memory.Scheduled:
		if b.Refused == "" {
			l.planned[b.Number] = e.Seq
		}
	case memory.Unscheduled:
		delete(l.planned, b.Number)
	case memory.Slot:
		l.slot(e, b, fail)
	case memory.Deleted:
		l.deleted[b.Ref.ID] = true
	case memory.Halt:
		if l.people[b.By.ID] {
			l.asksStop, l.stopsIn, l.stopHeard = e.At, l.open, l.c.w.since
		}
	case memory.Reaction:
		l.reacted[mark(b.Reaction)]++
		if b.Emoji == chat.EmojiStop { // it may be of somebody who has no say
			l.asksStop = time.Time{}
		}
		for _, k := range l.asked {
			if k.card == b.On {
				k.votes = append(k.votes, e)
			}
		}
	case memory.Opened, memory.Ended, memory.Stopped, memory.Failed, memory.Forgot:
		l.turn(e, fail)
	case memory.Trimmed:
		l.amnesia = l.amnesia || b.Steps > 0
	case memory.Step:
		l.step(b, fail)
	default:
		l.acts(e, fail)
	}
}

// slot reads a time of a schedule. One that begins is a question.
func (l *ledger) slot(e memory.Entry, b memory.Slot, fail complain) {
	name := fmt.Sprint(b.Of, " ", b.At.Unix())
	switch {
	case l.came[name]:
		fail(ruleSlots, "schedule %d comes twice for %v", b.Of, b.At)
	case l.planned[b.Number] != b.Of:
		fail(ruleSlots, "a time of schedule %d, which there is not, comes", b.Of)
	case e.At.Before(b.At) && len(l.c.jumpsAt) == 0:
		fail(ruleSlots, "schedule %d comes %v too early", b.Of, b.At.Sub(e.At))
	}
	l.came[name] = true
	delete(l.planned, b.Number)
	if q, _, _ := strings.Cut(b.Plan.Text, ":"); b.Skipped == 0 && !b.Plan.Remind {
		l.questions = append(l.questions, &question{name: q, at: l.c.w.since})
	}
}

// alerted checks a turn that an alert opens. It is of that alert alone.
func (l *ledger) alerted(b memory.Opened, fail complain) {
	for _, e := range l.hist {
		m, _ := e.Body.(memory.Message)
		if m.Alert != nil && e.Seq == b.Turn && m.Alert.As != memory.AlertBegins || (m.Alert != nil) != (b.Requester.Alert() != "") && e.Seq == b.Turn && b.Again == 0 {
			fail(ruleAlerts, "turn %d is of %s, and was opened by an alert that %+v", b.Turn, b.Requester.ID, m.Alert)
		}
	}
}

type complain func(r rule, format string, args ...any)

func (l *ledger) turn(e memory.Entry, fail complain) {
	switch b := e.Body.(type) {
	case memory.Opened:
		switch {
		case l.open != 0:
			fail(ruleOneTurn, "turn %d opens while %d is open", b.Turn, l.open)
		case l.done[b.Turn]:
			fail(ruleOneTurn, "turn %d opens a second time", b.Turn)
		case b.Turn < l.last && b.Again == 0:
			fail(ruleOneTurn, "turn %d opens after %d", b.Turn, l.last)
		}
		l.alerted(b, fail)
		l.open, l.last, l.openBy, l.stopped = b.Turn, b.Turn, b.Requester.ID, false
		l.authors, l.behind = l.authorsBetween(b.Turn, e.Seq)
	case memory.Ended:
		if l.poisoned && b.Turn == l.wiped {
			return // what was on its way to the platform when the thread was forgotten
		}
		if l.open != b.Turn {
			fail(ruleOneTurn, "turn %d ends while %d is open", b.Turn, l.open)
		}
		if late := e.At.Sub(l.asksStop); l.c.w.faults == 0 && !l.stopped && l.stopsIn == b.Turn && !l.asksStop.IsZero() && late > mostStop {
			fail(ruleStop, "turn %d goes on for %v after somebody said that it should stop", b.Turn, late)
		}
		l.endsTasks(b.Turn, fail)
		l.done[b.Turn], l.open, l.asksStop = true, 0, time.Time{}
	case memory.Stopped:
		l.stopped = true
		if late := e.At.Sub(l.asksStop); l.c.w.faults == 0 && l.stopsIn == b.Turn && !l.asksStop.IsZero() && late > mostStop {
			fail(ruleStop, "turn %d stops %v after somebody said so", b.Turn, late)
		}
	case memory.Forgot:
		l.forgot = max(l.forgot, b.Before)
		clear(l.planned)
		clear(l.people)
		for _, u := range b.Callers { // they still have a say
			l.people[u] = true
		}
		if b.Horizon.After(l.horizon) {
			l.horizon = b.Horizon
		}
		if l.poisoned { // nobody can say what was open
			l.wiped, l.open = l.open, 0
		}
	}
}

// mostStop is how long a word to stop may take where nothing goes wrong.
const mostStop = 5 * time.Second

// tooLate says whether the process that began a call had been told that the turn
// should stop: in the very commit that said so, or before.
func (l *ledger) tooLate(k *call) bool {
	return l.open == k.turn && l.stopsIn == k.turn && !l.asksStop.IsZero() && l.stopHeard <= k.begun
}

// mark names a reaction.
func mark(r chat.Reaction) string { return fmt.Sprint(r.On.ID, r.By.ID, r.Emoji, r.Removed) }

// authorsBetween lists whose messages came in a part of the log, and are in its turn. behind
// says that an alert, which has a turn of its own, parts later ones from it.
func (l *ledger) authorsBetween(from, to uint64) (out []chat.UserID, behind bool) {
	for _, e := range l.hist {
		m, ok := e.Body.(memory.Message)
		begins := ok && m.Alert != nil && m.Alert.As == memory.AlertBegins
		switch {
		case !ok || e.Seq < from || e.Seq > to || m.Sent.Before(l.horizon):
		case begins && e.Seq > from, !begins && len(out) > 0 && out[0] == "alert:"+pager && asksSomething(m):
			return out, true
		case begins || asksSomething(m):
			out = append(out, m.From.ID)
		}
		if s, ok := e.Body.(memory.Slot); ok && e.Seq >= from && e.Seq <= to {
			out = append(out, s.By.ID)
		}
	}
	return out, false
}

// asksSomething parts questions from words that are commands, which are in no turn.
func asksSomething(m memory.Message) bool { return strings.HasPrefix(m.Text, "q") }

func (l *ledger) step(b memory.Step, fail complain) {
	if b.Turn != l.open {
		fail(ruleOneTurn, "a step of turn %d while %d is open", b.Turn, l.open)
	}
	for id, k := range l.calls {
		if k.turn == b.Turn && len(k.results) == 0 {
			fail(ruleResults, "turn %d goes on, and %s has no result", b.Turn, id)
		}
	}
	for _, c := range b.Calls {
		name := l.id.Root + "#" + c.ID
		if l.calls[c.ID] != nil {
			fail(ruleNames, "two calls are %s", c.ID)
		}
		if old, ok := l.c.args[name]; ok && old != c.Args {
			fail(ruleNames, "%s was %s once and is %s now", c.ID, old, c.Args)
		}
		l.c.args[name] = c.Args
		l.calls[c.ID] = &call{id: c.ID, tool: c.Tool, args: c.Args, requester: l.openBy, turn: b.Turn}
	}
}

// acts reads what becomes of calls.
func (l *ledger) acts(e memory.Entry, fail complain) {
	switch b := e.Body.(type) {
	case memory.Asked:
		if k := l.calls[b.Call]; k != nil {
			k.askedAt, k.digest, k.name = e.At, b.Digest, memory.Nth(b.Call, b.Again)
			k.card, k.votes, k.decided = chat.MessageRef{}, nil, nil
			if b.Again == 0 {
				l.asked = append(l.asked, k)
			}
		}
	case memory.Posted:
		if _, ok := l.known[b.Ref]; !ok {
			l.known[b.Ref] = e.At
		}
		name, ok := strings.CutPrefix(b.Key, "ask/")
		name, _, _ = strings.Cut(name, "~")
		id, _, _ := strings.Cut(name, "!")
		if k := l.calls[id]; ok && k != nil && k.name == name && !b.Ref.IsZero() && k.card.IsZero() {
			k.card = b.Ref
		}
	case memory.Vote:
		if strings.HasPrefix(b.Reason, "it could not be checked") {
			if !l.c.doubted[b.By.ID] {
				fail(ruleVotes, "%s may decide or not, and the platform never failed to say", b.By.ID)
			}
			l.unsure[b.Reaction] = true
		}
	case memory.Decided:
		if k := l.calls[b.Call]; k != nil && k.decided == nil {
			l.decide(k, b, e, fail)
			if b.Outcome == chat.Approved {
				l.c.w.approved(l.id, itemOf(k.args))
			}
			k.decided = &b
		}
	case memory.Started:
		l.start(b, fail)
	case memory.Held:
		l.hold(b, fail)
	case memory.Result:
		l.result(b, fail)
	}
}

func (l *ledger) start(b memory.Started, fail complain) {
	k := l.calls[b.Call]
	switch {
	case k == nil:
		fail(ruleBegun, "%s starts, and nothing asked for it", b.Call)
		return
	case k.started != nil && (k.held == nil || k.held.Repeats):
		fail(ruleOnce, "%s starts twice", b.Call)
	case len(k.results) > 0:
		fail(ruleOnce, "%s starts after its result", b.Call)
	case l.stopped:
		fail(ruleStop, "%s starts after the turn was stopped", b.Call)
	case toolSpecs[k.tool].asks && (k.decided == nil || k.decided.Outcome != chat.Approved):
		fail(ruleApproved, "%s starts without an approval", b.Call)
	case toolSpecs[k.tool].asks && k.digest != b.Digest:
		fail(ruleShown, "%s starts with digest %s, and %s was asked for", b.Call, b.Digest, k.digest)
	}
	k.started, k.held = &b, nil
	k.begun = l.c.w.since
}

// decide checks a decision against the votes, in the order of the log.
func (l *ledger) decide(k *call, b memory.Decided, e memory.Entry, fail complain) {
	if k.askedAt.IsZero() {
		return
	}
	said, by := l.tally(k, false)
	if sure, _ := l.tally(k, true); sure != said {
		return // a membership could not be looked up at times: then a vote does not count
	}
	waited := b.Outcome == chat.Approved || b.Outcome == chat.Expired
	if l.c.hidden[l.id.Root+"#"+b.Call] && waited && len(l.c.jumpsAt) == 0 {
		fail(ruleHidden, "%s could not be shown, and is %s", b.Call, b.Outcome)
	}
	late := l.reached(k.askedAt.Add(approvalTime), e)
	switch {
	case b.Outcome == chat.Approved && said != chat.Approved:
		fail(ruleVotes, "%s is approved, and the votes say %q (%v)", b.Call, said, by)
	case b.Outcome == chat.Denied && said != chat.Denied && b.Reason == "":
		fail(ruleVotes, "%s is denied, and the votes say %q", b.Call, said)
	case b.Outcome == chat.Expired && said == chat.Approved:
		fail(ruleVotes, "%s expires, and %v had approved it", b.Call, by)
	case b.Outcome == chat.Expired && !late:
		fail(ruleVotes, "%s expires %v after it was asked for", b.Call, e.At.Sub(k.askedAt))
	}
}

// reached says whether an entry had reached a time: by its own time, or by that of an
// inbox entry right before it, put while the store's clock was ahead.
func (l *ledger) reached(at time.Time, by memory.Entry) bool {
	for _, e := range slices.Backward(l.hist) {
		if e.Seq < by.Seq {
			return !by.At.Before(at) || !e.At.Before(at)
		}
	}
	return !by.At.Before(at)
}

// tally is the outcome of a card's votes: the first decision counts. Votes of others,
// and late ones, do not count; one denial is enough; approvals stand until they are
// taken back. With sure, votes of people with an unknown membership do not count
// either.
func (l *ledger) tally(k *call, sure bool) (chat.Outcome, []chat.UserID) {
	spec := toolSpecs[k.tool]
	type voice struct {
		by    chat.UserID
		emoji string
	}
	var stand []voice
	for _, e := range k.votes {
		r := e.Body.(memory.Reaction)
		m := voice{r.By.ID, r.Emoji}
		excluded := spec.exclude && (m.by == k.requester || slices.Contains(l.authors, m.by))
		if !e.At.Before(k.askedAt.Add(approvalTime)) || sure && l.unsure[e.Seq] {
			continue
		}
		switch {
		case no(m.emoji) && !r.Removed && (spec.may(m.by, k.requester) || m.by == k.requester && spec.exclude):
			return chat.Denied, []chat.UserID{m.by}
		case yes(m.emoji) && r.Removed:
			stand = slices.DeleteFunc(stand, func(o voice) bool { return o == m })
		case yes(m.emoji) && !r.Removed && spec.may(m.by, k.requester) && !excluded:
			stand = append(stand, m)
		}
		var who []chat.UserID
		for _, s := range stand {
			if !slices.Contains(who, s.by) {
				who = append(who, s.by)
			}
		}
		if len(who) >= spec.quorum {
			return chat.Approved, who
		}
	}
	return "", nil
}

func (l *ledger) result(b memory.Result, fail complain) {
	k := l.calls[b.Call]
	if k == nil {
		return // of a step that was forgotten, or that the store lost
	}
	l.endsTask(k, b, fail)
	if b.State != chat.CallUnknown {
		l.learns(b.Call)
	} else {
		l.unknown(k, cmp.Or(l.run(b.Call+goesOn), l.run(b.Call)), fail)
	}
	k.results = append(k.results, b)
}

// lateCommit is how long after a look the commit may come that follows it: the store
// may not answer for a while.
const lateCommit = 10 * time.Second

// silence is for how long nothing was heard of a process.
func (n *node) silence() time.Duration {
	if n.store.well && !n.gone {
		return 0
	}
	return n.w.now().Sub(n.store.heard)
}

// looked notes what somebody sees who asks about a process.
func (c *checker) looked(process string) {
	n := c.nodes[process]
	if n == nil {
		return
	}
	saw, now := c.quiet[process], quiet{c.w.now(), n.silence()}
	if now.length >= saw.length || now.at.Sub(saw.at) > lateCommit {
		c.quiet[process] = now
	}
}

// unknown checks that the process was silent for the time limit of the call, and ten
// seconds more. Beats reach the store every third of a lease.
//
// A process may beat again between the look and the commit after it.
func (l *ledger) unknown(k *call, x *execution, fail complain) {
	if k.started == nil {
		fail(ruleUnknown, "the outcome of %s is unknown, and it never started", k.id)
		return
	}
	if k.held != nil && l.c.lost { // it may have gone on since
		return
	}
	n := l.c.nodes[k.started.By]
	if n == nil || l.c.w.alone && (n.p.dead || n.gone) {
		return
	}
	silent := n.silence()
	if saw := l.c.quiet[k.started.By]; l.c.w.now().Sub(saw.at) <= lateCommit {
		silent = max(silent, saw.length)
	}
	if most := toolSpecs[k.tool].timeout + 10*time.Second; !n.gone && silent < most {
		fail(ruleUnknown, "the outcome of %s is unknown after %v of silence (%v are due)", k.id, silent, most)
	}
	if x != nil && x.over && n.gone && !n.cutOff && !l.c.lost {
		fail(ruleUnknown, "the outcome of %s is unknown, and its process ended in peace", k.id)
	}
}
