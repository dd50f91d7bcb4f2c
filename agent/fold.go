package agent

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// state is a log, read once from front to back. Everything that this package
// decides is decided on it.
type state struct {
	last    uint64    // Seq of the last entry
	now     time.Time // when that entered the log: it is about this late
	broken  *trouble  // the first entry that can't be read
	horizon time.Time // nothing that was sent up to here counts
	heard   time.Time // platform's time of the latest message
	first   time.Time // and of the earliest
	active  time.Time // when somebody last wrote or the bot last did something

	turns    []*turn // all that are in the log, in order
	open     *turn   // the one that runs, if any
	waiting  []*message
	asides   []*message // what was said between people since the last turn
	commands []*command
	early    []*message // words that wait for cards
	forgot   []forgotten
	halts    []halt
	reacts   []reaction // that are not judged yet
	late     []*correction
	folding  []*turn // that ended before their steps were folded

	calls   map[string]*call
	posted  map[string]chat.MessageRef // by the name of the post
	refused []refusal
	byRef   map[chat.MessageRef]*call // approval message → call
	people  map[chat.UserID]bool      // who wrote in this thread
	callers []chat.UserID             // who of them called the bot
	muted   bool
	asks    int // approvals so far

	proposals []proposal                // changes of calls that nobody looked at
	answers   map[uint64]memory.Changed // what came of those, by their Seq

	kept int // entries since the log's base
	trim memory.Trimmed

	artifacts []*artifact
	grants    []*grant
	revokes   []memory.Revoked       // that are not noted yet
	allows    map[uint64]memory.Vote // what became of the words that allow
	off       map[string]bool        // tools that people switched off here
	recalled  bool                   // the recap was brought back
	questions []*asking              // of tools to people, of which something is left to do
}

// trouble is an entry that can't be read, and without which nobody knows what
// the thread has come to.
type trouble struct {
	seq  uint64
	what string
}

// correction is a result that came after its outcome was called unknown.
type correction struct {
	memory.Result
	seq uint64
}

// refusal is a post that the platform does not take.
type refusal struct {
	name, why string
	seq       uint64
	at        time.Time
}

type forgotten struct {
	memory.Forgot
	seq uint64
}

type halt struct {
	by  chat.User
	seq uint64
}

type reaction struct {
	memory.Reaction
	seq uint64
	at  time.Time
}

type turn struct {
	id        uint64
	name      string // in the names of posts
	requester chat.User
	at        time.Time
	strategy  string
	again     uint64          // the turn that this one tries to do better
	from      *call           // of an earlier turn, that a person ran again: this one goes on from there
	stays     []*call         // what had run from there on
	tries     int             // how many did so before it
	voices    []chat.User     // who spoke in those
	to        chat.MessageRef // what the first of those answered
	msgs      []*message
	steps     []*step
	stopped   *memory.Stopped
	failed    *memory.Failed
	opinions  []opinion                      // of its answer
	belongs   map[chat.UserID]memory.Belongs // who the people of it are
	over      time.Time                      // when it was stopped, or failed
	ended     bool
}

type step struct {
	memory.Step
	seq   uint64
	calls []*call
	by    *chat.User // who made it, when that was no model
}

type call struct {
	memory.Call
	turn    *turn
	step    *step
	asked   *memory.Asked
	askedAt time.Time

	givers     map[chat.UserID]memory.Belongs // of the grant that it may run on
	identified time.Time                      // when that was looked up

	askedIn uint64          // Seq of the post that asks
	stood   time.Time       // since when it does, where the platform says so
	ref     chat.MessageRef // of the approval message
	votes   []memory.Vote
	changes []memory.Changed // of its arguments, by people
	before  int              // how many of them came before it was asked for this time
	first   string           // digest of what was asked for this time, before others
	was     []string         // digests of what it was before those
	shownIn uint64           // Seq of the edit by which the card shows the latest
	hidden  bool             // the platform did not take that edit
	past    []*call          // as it was when it was asked for before
	redone  int              // of such a one: under which number it was asked for again
	lax     bool             // of such a one: since the rules became stricter
	decided *memory.Decided
	ended   time.Time       // when it was decided
	button  bool            // it was denied by a button, so that a reason may come
	reasons []memory.Reason // that people gave who denied it, or say so
	over    time.Time       // when its result came
	heard   uint64          // Seq of its result
	started bool
	by      string        // the process that runs it
	within  time.Duration // how long it may take
	result  *memory.Result
	late    *memory.Result // what really came of it, after its outcome was called unknown

	grant *grant // under which it may run
	spent bool   // it was to run under one that did not hold any more

	reminded, escalated stroke // of its clocks

	places   []string          // where its card is to stand too
	notified map[string]uint64 // the same, and Seq of the entry that says so
	copies   []*copied         // where it does
	searches []search          // for those who get it in direct conversations
	missed   map[string]string // places where it can't stand, and why
	votedOn  map[uint64]chat.MessageRef
	ahead

	tied string // see bound
	sum  string // digest of tool and arguments, when it was computed
}

func fold(entries []memory.Entry) *state {
	s := &state{
		calls:  map[string]*call{},
		posted: map[string]chat.MessageRef{},
		byRef:  map[chat.MessageRef]*call{},
		people: map[chat.UserID]bool{},
		off:    map[string]bool{},
		allows: map[uint64]memory.Vote{},
	}
	for _, e := range entries {
		s.add(e)
	}
	return s
}

func (s *state) add(e memory.Entry) {
	s.last, s.now = e.Seq, e.At
	s.kept++
	switch b := e.Body.(type) {
	case memory.Broken:
		s.trouble(e.Seq, b.Err)
	case memory.Unknown:
		if !b.Skip {
			s.trouble(e.Seq, "it is of the kind "+strconv.Quote(b.Name)+", which this build does not know")
		}
	case memory.Message:
		s.message(e, b)
	case memory.Edited:
		if m := s.unread(b.Ref); m != nil {
			m.change(change{seq: e.Seq, text: b.Text})
		}
	case memory.Deleted:
		if m := s.unread(b.Ref); m != nil {
			m.change(change{seq: e.Seq, text: m.Text, deleted: true})
		}
	case memory.Reaction:
		s.reaction(e, b)
	case memory.Feedback:
		s.feedback(b)
	case memory.Halt:
		if s.people[b.By.ID] {
			s.halts = append(s.halts, halt{b.By, e.Seq})
		}
	case memory.Reason:
		if c := s.calls[b.Call]; c != nil {
			c.reasons = append(c.reasons, b)
		}
	case memory.Change:
		s.propose(e.Seq, b)
	case memory.Order:
		s.ordered(e, b)
	case memory.Trimmed:
		s.trimmed(b)
	case memory.Forgot:
		s.forget(e.Seq, b)
	case memory.Posted:
		s.post(e.Seq, b)
	case memory.Seen:
		s.seen(b)
	case memory.Question:
		s.question(e, b)
	case memory.Answered:
		s.answered(b)
	default:
		s.addTurn(e)
	}
	s.judgeEarly()
	s.touch(e)
}

// touch notes activity; a deadline or a reaction that means nothing is none.
func (s *state) touch(e memory.Entry) {
	switch e.Body.(type) {
	case memory.Due, memory.Unknown, memory.Seen, memory.Trimmed, memory.Lost, memory.Belongs:
		return
	}
	if len(s.waiting) == 0 || s.open != nil {
		s.active = e.At
	}
}

func (s *state) addTurn(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Opened:
		s.opened(e, b)
	case memory.Step:
		s.step(e, b)
	case memory.Ran:
		s.ran(e, b)
	case memory.Stopped:
		if t := s.turn(b.Turn); t != nil {
			t.stopped, t.over = &b, e.At
			s.unqueue(t, b.Seen)
		}
	case memory.Failed:
		if t := s.turn(b.Turn); t != nil {
			t.failed, t.over = &b, e.At
		}
	case memory.Ended:
		s.ended(b)
	default:
		s.addCall(e)
	}
}

func (s *state) addCall(e memory.Entry) {
	switch b := e.Body.(type) {
	case memory.Asked:
		s.ask(e, b)
	case memory.Belongs:
		s.belongs(e.At, b)
	case memory.Granted:
		s.grantedFrom(e.At, b)
	case memory.Used:
		s.use(e, b)
	case memory.Revoked:
		s.revokes = slices.DeleteFunc(s.revokes, func(r memory.Revoked) bool { return r.Grant == b.Grant })
		if g := s.grant(b.Grant); g != nil {
			g.over = true
		}
	case memory.Vote:
		if b.Grant != nil {
			s.allows[b.Reaction] = b
		}
		s.votedOn(b)
		s.reacts = slices.DeleteFunc(s.reacts, func(r reaction) bool { return r.seq == b.Reaction })
		if c := s.calls[b.Call]; c != nil && b.Counts {
			c.votes = append(c.votes, b)
			c.button = c.button || b.Button && b.Verdict == memory.Deny
		}
	case memory.Changed:
		s.changed(b)
	case memory.Previewed:
		s.previewed(e, b)
	case memory.Decided:
		if c := s.calls[b.Call]; c != nil && c.decided == nil {
			c.decided, c.ended = &b, e.At
		}
	case memory.Started:
		if c := s.calls[b.Call]; c != nil {
			c.started, c.by, c.within = true, b.By, b.Within
		}
	case memory.Result:
		s.result(e, b)
	default:
		s.strike(e)
	}
}

// result takes what came of a call. The first outcome is the outcome, but what
// really came of a call corrects that nobody knew.
func (s *state) result(e memory.Entry, b memory.Result) {
	c := s.calls[b.Call]
	switch {
	case c == nil:
		if b.State != chat.CallUnknown {
			s.late = append(s.late, &correction{b, e.Seq})
		}
	case c.result == nil:
		b.Artifacts = s.adopt(b.Artifacts, artifact{seq: e.Seq, from: b.Tool, outside: b.Origin == outside})
		c.result, c.over, c.heard = &b, e.At, e.Seq
	case c.result.State == chat.CallUnknown && c.late == nil && b.State != chat.CallUnknown:
		b.Artifacts = s.adopt(b.Artifacts, artifact{seq: e.Seq, from: b.Tool, outside: b.Origin == outside})
		c.late = &b
		s.late = append(s.late, &correction{b, e.Seq})
	}
}

// started lists the calls that were begun and have no result yet.
func (s *state) started() []*call {
	if s.open == nil {
		return nil
	}
	var out []*call
	for _, st := range s.open.steps {
		for _, c := range st.calls {
			if c.started && c.result == nil {
				out = append(out, c)
			}
		}
	}
	return out
}

func (s *state) trouble(seq uint64, what string) {
	if s.broken == nil {
		s.broken = &trouble{seq, what}
	}
}

func (s *state) opened(e memory.Entry, b memory.Opened) {
	t := &turn{id: b.Turn, name: b.Name, requester: b.Requester, at: e.At, strategy: b.Strategy}
	t.try(b)
	s.reacts = slices.DeleteFunc(slices.Clone(s.reacts), func(r reaction) bool { return r.seq == b.Turn })
	t.msgs, s.asides = slices.Clone(s.asides), nil
	var rest []*message
	for i, m := range s.waiting {
		if m.seq >= b.Turn {
			n := i + together(s.waiting[i:])
			t.msgs, rest = append(t.msgs, s.waiting[i:n]...), s.waiting[n:]
			break
		}
	}
	slices.SortStableFunc(t.msgs, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
	s.resume(t, b.From)
	s.waiting, s.open = slices.Clone(rest), t
	s.turns = append(s.turns, t)
}

func (s *state) turn(id uint64) *turn {
	for _, t := range s.turns {
		if t.id == id {
			return t
		}
	}
	return nil
}

// step takes a step of the running turn. One that came too late, of a process
// that was replaced, says nothing.
func (s *state) step(e memory.Entry, b memory.Step) {
	if s.open == nil || s.open.id != b.Turn || b.N != len(s.open.steps)+1 {
		return
	}
	st := &step{Step: b, seq: e.Seq}
	for _, c := range b.Calls {
		k := &call{Call: c, turn: s.open, step: st}
		st.calls = append(st.calls, k)
		s.calls[c.ID] = k
	}
	s.open.steps = append(s.open.steps, st)
	for _, m := range s.open.msgs {
		if m.seq <= b.Seen {
			m.freeze(b.Seen)
		}
	}
}

// ended closes the turn. Messages that came after its last model call were
// not answered, and wait for the next turn.
func (s *state) ended(b memory.Ended) {
	t := s.turn(b.Turn)
	switch {
	case t == nil:
		// It was left out of the log, though not the end of it: something was said
		// meanwhile that opened the next one. What came of its calls corrects nothing.
		of := strconv.FormatUint(b.Turn, 10) + "-"
		s.late = slices.DeleteFunc(s.late, func(c *correction) bool { return strings.HasPrefix(c.Call, of) })
		return
	case t.ended:
		return
	}
	t.ended = true
	if s.unfolded(t) {
		s.folding = append(s.folding, t)
	}
	if s.open != t {
		return
	}
	s.open = nil
	s.reacts = slices.DeleteFunc(s.reacts, func(r reaction) bool { return s.byRef[r.On] == nil && r.Emoji != chat.EmojiRetry })
	seen := t.doneWith()
	for i, m := range t.msgs {
		if m.seq > seen {
			s.unanswered(t.msgs[i:])
			t.msgs = t.msgs[:i:i]
			return
		}
	}
}

func (s *state) post(seq uint64, b memory.Posted) {
	name := memory.PostName(b.Key)
	s.posted[name] = b.Ref
	if b.Refused != "" && !strings.HasPrefix(name, "copy/") { // what can't be shown elsewhere is said once for all
		s.refused = append(s.refused, refusal{name, b.Refused, seq, s.now})
	}
	s.redrawn(seq, name, b.Unshown)
	s.folding = slices.DeleteFunc(s.folding, func(t *turn) bool { return t.foldName() == name })
	s.copyPosted(seq, b)
	s.questionPosted(seq, name, b)
	if call, ok := memory.Asks(b.Key); ok {
		if c := s.calls[call]; c != nil {
			c.ref, c.askedIn, c.stood = b.Ref, seq, b.Stood
			s.byRef[b.Ref] = c
		}
	}
}

// notice is the name of the post that answers a command.
func (c *command) notice() string { return "notice/" + strconv.FormatUint(c.seq, 10) }

// seenUpTo is the last entry that a model call of the turn has seen.
func (t *turn) seenUpTo() uint64 {
	if d := t.draft(); d != nil {
		return d.Seen
	}
	return 0
}

// doneWith is the last entry that no later turn will look at again.
func (t *turn) doneWith() uint64 {
	seen := t.seenUpTo()
	if t.stopped != nil {
		seen = max(seen, t.stopped.Seen)
	}
	if t.failed != nil {
		seen = max(seen, t.failed.Seen)
	}
	if len(t.steps) > 0 && t.steps[0].by != nil {
		seen = max(seen, t.id)
	}
	return seen
}

func (t *turn) lastStep() *step {
	if len(t.steps) == 0 {
		return nil
	}
	return t.steps[len(t.steps)-1]
}
