package agent

import (
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/memory"
)

// state is a log, read once from front to back. Everything that this package
// decides is decided on it.
type state struct {
	last    uint64    // Seq of the last entry
	now     time.Time // the latest time that an entry bears: it is at least this late
	horizon time.Time // nothing that was sent up to here counts
	active  time.Time // when somebody last wrote or the bot last did something

	turns    []*turn // all that are in the log, in order
	open     *turn   // the one that runs, if any
	waiting  []*message
	commands []*command
	forgot   []forgotten
	halts    []halt
	reacts   []reaction // that are not judged yet

	calls  map[string]*call
	posted map[string]chat.MessageRef
	byRef  map[chat.MessageRef]*call // approval message → call
	people map[chat.UserID]bool      // who wrote in this thread
	trim   memory.Trimmed

	artifacts []*artifact
	off       map[string]bool // tools that people switched off here
	recalled  bool            // the recap was brought back
}

type message struct {
	chat.Message
	seq     uint64
	at      time.Time
	deleted bool
	marked  bool   // bears the eyes
	wrote   string // the text as it came
	changes []change
	seen    bool // by a model call: from then on it stays as it is
}

// change is an edit or the deletion of a message.
type change struct {
	seq     uint64
	text    string
	deleted bool
}

func (m *message) change(c change) {
	m.changes = append(m.changes, c)
	m.Text, m.deleted = c.text, c.deleted
}

// freeze makes the message what it was when a model call saw it, which may
// have been before changes that came while the model was at work.
func (m *message) freeze(seen uint64) {
	if m.seen {
		return
	}
	m.seen, m.Text, m.deleted = true, m.wrote, false
	for _, c := range m.changes {
		if c.seq <= seen {
			m.Text, m.deleted = c.text, c.deleted
		}
	}
}

type command struct {
	message
	word string
	arg  string
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
	requester chat.User
	at        time.Time
	strategy  string
	again     uint64 // the turn that this one tries to do better
	tries     int    // how many did so before it
	msgs      []*message
	steps     []*step
	stopped   *memory.Stopped
	failed    *memory.Failed
	ended     bool
}

type step struct {
	memory.Step
	seq   uint64
	calls []*call
}

type call struct {
	memory.Call
	turn    *turn
	step    *step
	asked   *memory.Asked
	askedAt time.Time
	ref     chat.MessageRef // of the approval message
	votes   []memory.Vote
	decided *memory.Decided
	started bool
	result  *memory.Result

	sum string // digest of tool and arguments, when it was computed
}

func (c *call) deadline() time.Time { return c.askedAt.Add(c.asked.Rules.Timeout) }

// pending says whether the call waits for people.
func (c *call) pending() bool {
	return c.asked != nil && c.decided == nil && c.result == nil
}

func fold(entries []memory.Entry) *state {
	s := &state{
		calls:  map[string]*call{},
		posted: map[string]chat.MessageRef{},
		byRef:  map[chat.MessageRef]*call{},
		people: map[chat.UserID]bool{},
		off:    map[string]bool{},
	}
	for _, e := range entries {
		s.add(e)
	}
	return s
}

func (s *state) add(e memory.Entry) {
	s.last = e.Seq
	if e.At.After(s.now) {
		s.now = e.At
	}
	switch b := e.Body.(type) {
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
		s.reacts = append(s.reacts, reaction{b, e.Seq, e.At})
	case memory.Halt:
		s.halts = append(s.halts, halt{b.By, e.Seq})
	case memory.Trimmed:
		s.trimmed(b)
	case memory.Forgot:
		s.forget(e.Seq, b)
	case memory.Posted:
		s.post(b)
	case memory.Seen:
		s.seen(b)
	default:
		s.addTurn(e)
	}
	s.touch(e)
}

// touch notes activity; a deadline or a reaction that means nothing is none.
func (s *state) touch(e memory.Entry) {
	switch e.Body.(type) {
	case memory.Due, memory.Unknown, memory.Seen, memory.Trimmed:
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
		if s.open != nil {
			s.step(e, b)
		}
	case memory.Stopped:
		if t := s.turn(b.Turn); t != nil {
			t.stopped = &b
		}
	case memory.Failed:
		if t := s.turn(b.Turn); t != nil {
			t.failed = &b
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
		if c := s.calls[b.Call]; c != nil && c.asked == nil {
			c.asked, c.askedAt = &b, e.At
		}
	case memory.Vote:
		s.reacts = slices.DeleteFunc(s.reacts, func(r reaction) bool { return r.seq == b.Reaction })
		if c := s.calls[b.Call]; c != nil && b.Counts {
			c.votes = append(c.votes, b)
		}
	case memory.Decided:
		if c := s.calls[b.Call]; c != nil && c.decided == nil {
			c.decided = &b
		}
	case memory.Started:
		if c := s.calls[b.Call]; c != nil {
			c.started = true
		}
	case memory.Result:
		if c := s.calls[b.Call]; c != nil && c.result == nil {
			b.Artifacts = s.adopt(b.Artifacts, artifact{seq: e.Seq, from: b.Tool})
			c.result = &b
		}
	}
}

func (s *state) message(e memory.Entry, b memory.Message) {
	if !b.Sent.IsZero() && b.Sent.Before(s.horizon) {
		return
	}
	s.people[b.From.ID] = true
	m := &message{Message: b.Message, seq: e.Seq, at: e.At, wrote: b.Text}
	if word, arg, ok := parseCommand(b.Text); ok && s.commanded(word, arg) {
		s.commands = append(s.commands, &command{message: *m, word: word, arg: arg})
		return
	}
	m.Files = s.adopt(m.Files, artifact{seq: e.Seq, from: m.From.Display(), with: m})
	if s.open != nil {
		s.open.msgs = append(s.open.msgs, m)
		return
	}
	s.waiting = append(s.waiting, m)
}

// commanded takes a command that changes what is seen; ok is false for a text
// that only looks like one.
func (s *state) commanded(word, arg string) (ok bool) {
	switch word {
	case "drop":
		looksLikeOne := strings.Contains(arg, ".") && !strings.ContainsAny(arg, " \t\n")
		if s.artifact(arg) == nil && !looksLikeOne {
			return false
		}
		s.drop(arg)
	case "tools off", "tools on":
		s.switchTool(word, arg)
	case "recap":
		if s.trim.Recap == "" {
			return false
		}
		s.recalled = true
	}
	return true
}

// unread finds a message that no model call has seen.
func (s *state) unread(ref chat.MessageRef) *message {
	for _, m := range s.waiting {
		if m.Ref == ref {
			return m
		}
	}
	if s.open == nil {
		return nil
	}
	for _, m := range s.open.msgs {
		if m.Ref == ref && !m.seen {
			return m
		}
	}
	return nil
}

func (s *state) seen(b memory.Seen) {
	if s.open == nil {
		return
	}
	for _, m := range s.open.msgs {
		if m.seq == b.Message {
			m.marked = true
		}
	}
}

func (s *state) opened(e memory.Entry, b memory.Opened) {
	t := &turn{id: b.Turn, requester: b.Requester, at: e.At, strategy: b.Strategy, again: b.Again}
	if first := s.turn(b.Again); first != nil {
		t.tries = first.tries + 1
	}
	s.reacts = slices.DeleteFunc(s.reacts, func(r reaction) bool { return r.seq == b.Turn })
	for i, m := range s.waiting {
		if m.seq >= b.Turn {
			t.msgs = append(t.msgs, s.waiting[i:]...)
			break
		}
	}
	s.waiting, s.open = nil, t
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

func (s *state) step(e memory.Entry, b memory.Step) {
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
	if t == nil || t.ended {
		return
	}
	t.ended = true
	if s.open != t {
		return
	}
	s.open = nil
	seen := t.doneWith()
	for i, m := range t.msgs {
		if m.seq > seen {
			s.waiting = append(s.waiting, t.msgs[i:]...)
			t.msgs = t.msgs[:i:i]
			return
		}
	}
}

func (s *state) post(b memory.Posted) {
	s.posted[b.Key] = b.Ref
	if call, ok := cutKey(b.Key, "ask/"); ok {
		if c := s.calls[call]; c != nil {
			c.ref = b.Ref
			s.byRef[b.Ref] = c
		}
	}
}

// forget makes the state that of a thread in which nothing was said before.
func (s *state) forget(seq uint64, b memory.Forgot) {
	kept := *s
	*s = *fold(nil)
	s.last, s.now, s.active = kept.last, kept.now, kept.active
	s.horizon = b.Horizon
	if kept.horizon.After(s.horizon) {
		s.horizon = kept.horizon
	}
	s.forgot = append(s.forgot, forgotten{b, seq})
	s.waiting = slices.DeleteFunc(kept.waiting, func(m *message) bool { return m.seq < b.Before })
	s.commands = slices.DeleteFunc(kept.commands, func(c *command) bool { return c.seq < b.Before })
	for _, m := range s.waiting {
		s.people[m.From.ID] = true
	}
}

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
	return seen
}

// live lists the messages of the turn that were not taken back.
func (t *turn) live() []*message {
	return slices.DeleteFunc(slices.Clone(t.msgs), func(m *message) bool { return m.deleted })
}

func (t *turn) lastStep() *step {
	if len(t.steps) == 0 {
		return nil
	}
	return t.steps[len(t.steps)-1]
}
