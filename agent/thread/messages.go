package thread

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/chat"
	"nod/chat/vocabulary"
	"nod/chat/when"
	"nod/memory"
)

// Message is a message of a person, with its changes.
type Message struct {
	chat.Message
	Seq     uint64
	At      time.Time
	Deleted bool
	Marked  bool   // it bears the eyes
	wrote   string // the text as it came
	changes []edit
	seen    bool         // a model call has seen it: from then on it stays as it is
	Skill   string       // its text is asked for, and was there when the message came
	Form    *Order       // the order of the form that it came from
	Drawn   bool         // a server's question may have asked for it: it makes no address free
	Steps   *Turn        // the turn whose steps were the latest when it came
	Slot    *memory.Slot // the time of a schedule that it is
	heldIn  uint64       // Seq of the entry with its text, of an alert that was held back
}

// FirstOf is the Seq of the first entry that a turn is made of, or a message alone. Messages
// between people from before it was opened belong to it.
func FirstOf(turn uint64, msgs []*Message) uint64 {
	for _, m := range msgs {
		turn = min(turn, m.Seq)
	}
	return turn
}

// edit is a change or the deletion of a message.
type edit struct {
	seq     uint64
	text    string
	deleted bool
}

// Command is a word that a person said to the bot, such as `stop`.
type Command struct {
	Message
	Word string
	Arg  string
	Is   memory.Belongs // the groups of its author, where they were looked up
	Plan *when.Plan     // of the schedule that it asks for
	Why  string         // why there can be none
}

// Notice is the name of the post that answers a command.
func (c *Command) Notice() string { return "notice/" + strconv.FormatUint(c.Seq, 10) }

// takeMessage takes a message, unless the log has it already.
func (s *Thread) takeMessage(e memory.Entry, b memory.Message) {
	if s.beyond(b.Sent) || s.repeated(b.Message) {
		return
	}
	if b.Alert != nil {
		s.takeAlert(e, b)
		return
	}
	s.Span.First, s.Span.Last = Earlier(s.Span.First, b.Sent), later(s.Span.Last, b.Sent)
	if !b.Outside { // strangers may not stop a turn
		s.Folk.People[b.From.ID] = true
	}
	if !b.Aside {
		s.noteCaller(b.From.ID)
	}
	m := &Message{Message: b.Message, Seq: e.Seq, At: e.At, wrote: b.Text, Skill: b.Skill, Steps: s.latestSteps(b.Text)}
	switch {
	case b.Outside:
		s.hearMessage(m)
		return
	case b.From.Bot:
		s.hearBot(m)
		return
	}
	s.Folk.Bots, m.Drawn = 0, s.draws(m)
	s.endReasons(m)
	if !m.Aside && (b.Plan != nil || b.Unplanned != "") {
		s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: "schedule", Plan: b.Plan, Why: b.Unplanned})
		return
	}
	if !m.Aside && b.Fact {
		if word, arg, ok := vocabulary.Facts(m.Text); ok {
			s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: word, Arg: arg})
		}
		return
	}
	if s.tooEarly(m) {
		s.Inbox.Early = append(s.Inbox.Early, m)
		return
	}
	s.sortMessage(m)
}

// mostBots is how many turns in a row only bots may ask for: two of them would go on for
// ever.
const mostBots = 5

// hearBot takes the message of a program: a question or context, and never a word. It may
// stand in a person's name. Beyond the bound it is context, which is told once.
func (s *Thread) hearBot(m *Message) {
	if s.Folk.Bots >= mostBots && !m.Aside {
		m.Aside = true
		if s.Folk.Bots == mostBots {
			s.Folk.Bots++
			s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: "bots"})
		}
	}
	s.hearMessage(m)
}

// sortMessage finds out what a message is for: a vote, a change, a command, a reply, or
// text for the model.
func (s *Thread) sortMessage(m *Message) {
	if decides(m.Text) && s.takeReply(m) {
		return // it may be the answer to a question, so it approves nothing
	}
	if s.takeBallot(m) || s.takeChange(m) {
		return
	}
	if word, arg, ok := ParseCommand(m.Text); ok && (!m.Aside || s.ofApproval(word, arg)) && s.takeCommand(m, word, arg) {
		s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: word, Arg: arg})
		return
	}
	if s.takeReply(m) {
		return
	}
	s.hearMessage(m)
}

// repeatable is in how many of the latest turns a repeated message is looked for.
const repeatable = 16

// repeated says whether the log has a message already. A store that came back older than
// it was gets the lost messages from the platform once more.
func (s *Thread) repeated(b chat.Message) bool {
	if b.Ref.IsZero() || b.Sent.IsZero() || b.About {
		return false
	}
	same := func(m *Message) bool {
		return m.Ref == b.Ref && m.From.ID == b.From.ID && m.Sent.Equal(b.Sent) && (b.Aside || !m.Aside)
	}
	if slices.ContainsFunc(s.Inbox.Waiting, same) || slices.ContainsFunc(s.Inbox.Asides, same) || slices.ContainsFunc(s.Inbox.Early, same) {
		return true
	}
	for _, t := range s.Turns[max(0, len(s.Turns)-repeatable):] {
		if slices.ContainsFunc(t.Msgs, same) {
			return true
		}
	}
	return false
}

// hearMessage takes a message for the model.
func (s *Thread) hearMessage(m *Message) {
	m.Files = s.adopt(m.Files, Artifact{seq: m.Seq, From: m.From.Display(), With: m})
	if !m.Aside && slices.ContainsFunc(m.Files, func(f chat.File) bool { return f.Refused != "" }) {
		s.Inbox.Commands = append(s.Inbox.Commands, &Command{Message: *m, Word: "no room"})
	}
	if s.Open != nil && !s.queues(m) {
		s.Open.Msgs = append(s.Open.Msgs, m)
		return
	}
	if m.Aside {
		s.Inbox.Asides = append(s.Inbox.Asides, m)
		s.Inbox.Asides = s.Inbox.Asides[max(0, len(s.Inbox.Asides)-mostAsides):]
		return
	}
	s.Inbox.Waiting = append(s.Inbox.Waiting, m)
}

// mostAsides is how many messages between people the next turn is shown.
const mostAsides = 30

// takeCommand takes a command, and changes the thread where it has to; ok is false for a
// text that only looks like a command.
func (s *Thread) takeCommand(m *Message, word, arg string) (ok bool) {
	switch word {
	case "allow":
		return s.takeAllow(m, arg)
	case "revoke":
		s.revokeGrant(m.From, arg)
	case "drop":
		if a := s.Artifact(arg); a != nil {
			a.dropped = true
			return true
		}
		return strings.Contains(arg, ".") && !strings.ContainsAny(arg, " \t\n") // it looks like one
	case "tools off", "tools on":
		s.switchTool(word, arg)
	case "model":
		s.chooseModel(arg)
	case "use":
		return false // an order, or text
	case "unschedule", "resume":
		s.switchSchedule(m, word, arg)
	case "mute", "unmute":
		s.Folk.Muted = word == "mute"
	case "recap":
		if s.Trim.Recap == "" {
			return false
		}
		s.Recalled = true
	}
	return true
}

// ofApproval says whether a word is about an existing approval. People who decide need not
// have called the bot.
func (s *Thread) ofApproval(word, arg string) bool {
	if word != "revoke" {
		return word == "allow"
	}
	n, _ := strconv.Atoi(arg)
	g := s.Grant(n)
	return g != nil && !g.over
}

// takeEdit takes a change of a message, unless a model call has seen the message.
func (s *Thread) takeEdit(ref chat.MessageRef, c edit) {
	m := s.unread(ref)
	if m == nil {
		return
	}
	if c.deleted {
		c.text = m.Text
	}
	m.changes = append(m.changes, c)
	m.Text, m.Deleted = c.text, c.deleted
}

// freeze gives the message the text that a model call saw. Later changes count for
// nothing.
func (m *Message) freeze(seen uint64) {
	if m.seen {
		return
	}
	m.seen, m.Text, m.Deleted = true, m.wrote, false
	for _, c := range m.changes {
		if c.seq <= seen {
			m.Text, m.Deleted = c.text, c.deleted
		}
	}
}

// unread finds a message that no model call has seen.
func (s *Thread) unread(ref chat.MessageRef) *Message {
	all := slices.Concat(s.Inbox.Waiting, s.Inbox.Asides, s.Inbox.Early)
	if s.Open != nil {
		all = append(all, s.Open.Msgs...)
	}
	return first(all, func(m *Message) bool { return m.Ref == ref && !m.seen && !m.About })
}

func (s *Thread) markSeen(b memory.Seen) {
	if s.Open == nil {
		return
	}
	for _, m := range slices.Concat(s.Open.Msgs, s.Inbox.Waiting) {
		if m.Seq == b.Message {
			m.Marked = true
		}
	}
}

// requeue has messages wait again that no turn answered.
func (s *Thread) requeue(msgs []*Message) {
	for _, m := range msgs {
		if m.Aside {
			s.Inbox.Asides = append(s.Inbox.Asides, m)
		} else {
			s.Inbox.Waiting = append(s.Inbox.Waiting, m)
		}
	}
	inOrder(s.Inbox.Waiting)
}

func inOrder(msgs []*Message) {
	slices.SortStableFunc(msgs, func(a, b *Message) int { return cmp.Compare(a.Seq, b.Seq) })
}

// queues says whether a message waits while a turn runs. One that goes alone waits, and
// so does each message behind it.
func (s *Thread) queues(m *Message) bool {
	return m.Alone() || len(s.Inbox.Waiting) > 0 && !m.Aside
}

// together is how many waiting messages open one turn: one that goes alone, or all messages
// before the next of these.
func together(waiting []*Message) int {
	for i, m := range waiting {
		if m.Alone() {
			return max(1, i)
		}
	}
	return len(waiting)
}

// unqueue gives waiting messages to a turn that was stopped: a stop ends all that was said
// before it.
func (s *Thread) unqueue(t *Turn, upTo uint64) {
	for len(s.Inbox.Waiting) > 0 && s.Inbox.Waiting[0].Seq <= upTo {
		t.Msgs, s.Inbox.Waiting = append(t.Msgs, s.Inbox.Waiting[0]), s.Inbox.Waiting[1:]
	}
}

// takeReaction keeps a reaction that may mean something.
func (s *Thread) takeReaction(e memory.Entry, b memory.Reaction) {
	s.takeThumb(b)
	switch {
	case b.Emoji == chat.EmojiMute:
		if Mutes(b) && s.Own(b.On) {
			s.Folk.Muted = true
		}
	case b.Emoji == chat.EmojiStop && !s.Folk.People[b.By.ID]:
		// Only people of the thread may stop, and a later message changes nothing of that.
	case s.Open != nil || len(s.Inbox.Waiting) > 0 || s.Posts.Cards[b.On] != nil || b.Emoji == chat.EmojiRetry:
		s.Inbox.Reacts = append(s.Inbox.Reacts, Reaction{b, e.Seq, e.At})
	}
}

// Mutes says whether a reaction asks the bot to leave a thread alone.
func Mutes(r memory.Reaction) bool { return r.Emoji == chat.EmojiMute && !r.Removed && !r.By.Bot }

func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// Earlier gives the earlier of two times. A zero time is unknown.
func Earlier(x, y time.Time) time.Time {
	if x.IsZero() || !y.IsZero() && y.Before(x) {
		return y
	}
	return x
}
