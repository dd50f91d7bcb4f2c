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

type message struct {
	chat.Message
	seq     uint64
	at      time.Time
	deleted bool
	marked  bool   // bears the eyes
	wrote   string // the text as it came
	changes []change
	seen    bool   // by a model call: from then on it stays as it is
	form    *order // that it stands for, when it came from a form
	steps   *turn  // of which the steps were the latest to be seen when it came
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
	is   memory.Belongs // who says it, where that was asked
}

// earlier gives the earlier of two times, where they are known.
func earlier(x, y time.Time) time.Time {
	if x.IsZero() || !y.IsZero() && y.Before(x) {
		return y
	}
	return x
}

func (s *state) message(e memory.Entry, b memory.Message) {
	if s.beyond(b.Sent) || s.repeated(b.Message) {
		return
	}
	if b.Sent.After(s.heard) {
		s.heard = b.Sent
	}
	s.first = earlier(s.first, b.Sent)
	s.people[b.From.ID] = true
	if !b.Aside && !slices.Contains(s.callers, b.From.ID) {
		s.callers = append(s.callers, b.From.ID)
	}
	m := &message{Message: b.Message, seq: e.Seq, at: e.At, wrote: b.Text, steps: s.latestSteps(b.Text)}
	if s.tooEarly(m) {
		s.early = append(s.early, m)
		return
	}
	s.takes(m)
}

// takes finds out what a message is for.
func (s *state) takes(m *message) {
	if b, ok := parseBallot(m.Text); ok && b.number == 0 && s.replies(m) {
		return // it may be meant for an approval: nobody approves by what may be an answer
	}
	if s.ballot(m) || s.change(m) {
		return
	}
	if word, arg, ok := parseCommand(m.Text); ok && (!m.Aside || s.ofApproval(word, arg)) && s.commanded(m, word, arg) {
		s.commands = append(s.commands, &command{message: *m, word: word, arg: arg})
		return
	}
	if s.replies(m) {
		return
	}
	s.hears(m)
}

// repeatable is how many of the latest turns a message is looked for in.
const repeatable = 16

// repeated says whether a message is in the log already: a store that came back older
// does not know any more that it had it, is told again what it lost of the thread, and
// gets it from the platform once more.
func (s *state) repeated(b chat.Message) bool {
	if b.Ref.IsZero() || b.Sent.IsZero() || b.About {
		return false
	}
	same := func(m *message) bool {
		return m.Ref == b.Ref && m.From.ID == b.From.ID && m.Sent.Equal(b.Sent) && (b.Aside || !m.Aside)
	}
	if slices.ContainsFunc(s.waiting, same) || slices.ContainsFunc(s.asides, same) || slices.ContainsFunc(s.early, same) {
		return true
	}
	for _, t := range s.turns[max(0, len(s.turns)-repeatable):] {
		if slices.ContainsFunc(t.msgs, same) {
			return true
		}
	}
	return false
}

// hears takes what is meant for the model.
func (s *state) hears(m *message) {
	m.Files = s.adopt(m.Files, artifact{seq: m.seq, from: m.From.Display(), with: m})
	if !m.Aside && slices.ContainsFunc(m.Files, func(f chat.File) bool { return f.Refused != "" }) {
		s.commands = append(s.commands, &command{message: *m, word: "no room"})
	}
	if s.open != nil && !s.queues(m) {
		s.open.msgs = append(s.open.msgs, m)
		return
	}
	if m.Aside {
		s.asides = append(s.asides, m)
		s.asides = s.asides[max(0, len(s.asides)-mostAsides):]
		return
	}
	s.waiting = append(s.waiting, m)
}

// mostAsides is how much of what people said to each other the next turn is shown.
const mostAsides = 30

// commanded takes a command that changes what is seen; ok is false for a text
// that only looks like one.
func (s *state) commanded(m *message, word, arg string) (ok bool) {
	switch word {
	case "allow":
		return s.allowed(m, arg)
	case "revoke":
		s.revoked(m.From, arg)
	case "drop":
		looksLikeOne := strings.Contains(arg, ".") && !strings.ContainsAny(arg, " \t\n")
		if s.artifact(arg) == nil && !looksLikeOne {
			return false
		}
		s.drop(arg)
	case "tools off", "tools on":
		s.switchTool(word, arg)
	case "mute", "unmute":
		s.muted = word == "mute"
	case "recap":
		if s.trim.Recap == "" {
			return false
		}
		s.recalled = true
	}
	return true
}

// ofApproval says whether a word is about an approval that there is: whoever decides
// those need not have called the bot, as with `y` and `n`.
func (s *state) ofApproval(word, arg string) bool {
	if word != "revoke" {
		return word == "allow"
	}
	n, _ := strconv.Atoi(arg)
	g := s.grant(n)
	return g != nil && !g.over
}

// unread finds a message that no model call has seen, said to it or among people.
func (s *state) unread(ref chat.MessageRef) *message {
	all := slices.Concat(s.waiting, s.asides, s.early)
	if s.open != nil {
		all = append(all, s.open.msgs...)
	}
	for _, m := range all {
		if m.Ref == ref && !m.seen && !m.About {
			return m
		}
	}
	return nil
}

func (s *state) seen(b memory.Seen) {
	if s.open == nil {
		return
	}
	for _, m := range slices.Concat(s.open.msgs, s.waiting) {
		if m.seq == b.Message {
			m.marked = true
		}
	}
}

// unanswered puts messages that no turn answered back to where they wait.
func (s *state) unanswered(msgs []*message) {
	for _, m := range msgs {
		if m.Aside {
			s.asides = append(s.asides, m)
		} else {
			s.waiting = append(s.waiting, m)
		}
	}
	slices.SortStableFunc(s.waiting, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
}

// asked lists the messages of the turn that ask for something.
func (t *turn) asked() []*message {
	return without(t.live(), func(m *message) bool { return m.Aside })
}

// live lists the messages of the turn that were not taken back.
func (t *turn) live() []*message {
	return without(t.msgs, func(m *message) bool { return m.deleted })
}

// without is a list without what is dropped: a prompt is made of hundreds of turns in
// which nothing is, and then it is the list itself, to be read only.
func without[T any](list []T, drop func(T) bool) []T {
	if !slices.ContainsFunc(list, drop) {
		return slices.Clip(list)
	}
	return slices.DeleteFunc(slices.Clone(list), drop)
}

// reaction keeps a reaction that may mean something: that is on a message of the
// thread that asks, or that somebody may have meant for one that asks now.
func (s *state) reaction(e memory.Entry, b memory.Reaction) {
	s.thumb(b)
	switch {
	case b.Emoji == chat.EmojiMute:
		if mutes(b) && s.own(b.On) {
			s.muted = true
		}
	case b.Emoji == chat.EmojiStop && !s.people[b.By.ID]:
		// Whoever takes no part may not stop, and does not do so later.
	case s.open != nil || len(s.waiting) > 0 || s.byRef[b.On] != nil || b.Emoji == chat.EmojiRetry:
		s.reacts = append(s.reacts, reaction{b, e.Seq, e.At})
	}
}

// mutes says whether a reaction asks the bot to follow a thread no more.
func mutes(r memory.Reaction) bool { return r.Emoji == chat.EmojiMute && !r.Removed && !r.By.Bot }

// own says whether the bot itself made a message.
func (s *state) own(ref chat.MessageRef) bool {
	for name, r := range s.posted {
		if r == ref && !strings.HasPrefix(name, "copy/") { // a card in another place is not of this thread
			return true
		}
	}
	return false
}
