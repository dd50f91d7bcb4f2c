package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/speak"
	"nod/chat"
	"nod/chat/question"
	"nod/llm/args"
	"nod/memory"
)

// A tool may ask the person for whom it runs something, in the middle of a call.
// One question of a thread is asked at a time, since a message of that person is
// the reply, and nothing says to which. A reply is nothing else: no model sees it,
// and it makes nobody's address free. It is taken by the process that waits for it,
// or else it stays a message like any other: the call may be gone, with everybody
// who wanted to know.

// asking is a question of a tool's.
type asking struct {
	memory.Question
	seq      uint64
	call     *call
	since    time.Time // from when it is the one that is asked
	postedIn uint64    // Seq of its post
	ref      chat.MessageRef
	refused  bool       // the platform does not take it
	replies  []*message // that nobody looked at yet
	unfit    []memory.Answered
	over     *memory.Answered
}

func (q *asking) name() string        { return "question/" + q.ID }
func (q *asking) deadline() time.Time { return q.since.Add(chat.AnswerWithin) }

// question takes a question. One of a call that is over, or unknown, is nobody's.
func (s *state) question(e memory.Entry, b memory.Question) {
	c := s.calls[b.Call]
	if c == nil || s.questionOf(b.ID) != nil {
		return
	}
	s.questions = append(s.questions, &asking{Question: b, seq: e.Seq, call: c})
	s.nextQuestion()
}

func (s *state) questionOf(id string) *asking {
	for _, q := range s.questions {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// asksNow is the question that is asked now; nil where there is none.
func (s *state) asksNow() *asking {
	for _, q := range s.questions {
		if q.over == nil {
			return q
		}
	}
	return nil
}

// inquirer names whoever waits for an answer in the middle of a call; "" where nobody
// does.
func (s *state) inquirer(c *call) string {
	if q := s.asksNow(); q != nil && q.call == c && q.postedIn > 0 {
		return q.Asks.From
	}
	return ""
}

// nextQuestion begins the time of the one that is asked now.
func (s *state) nextQuestion() {
	if q := s.asksNow(); q != nil && q.since.IsZero() {
		q.since = s.now
	}
}

// questionPosted notes where a question stands.
func (s *state) questionPosted(seq uint64, name string, b memory.Posted) {
	id, ok := strings.CutPrefix(name, "question/")
	if !ok {
		return
	}
	if q := s.questionOf(id); q != nil {
		q.postedIn, q.ref, q.refused = seq, b.Ref, b.Ref.IsZero()
	}
}

// replies takes a message that answers the question that stands in the thread; ok is
// false for any other.
func (s *state) replies(m *message) (ok bool) {
	q := s.asksNow()
	if q == nil || q.postedIn == 0 || q.refused || q.call.result != nil || !m.at.Before(q.deadline()) {
		return false
	}
	if _, order := m.order(); order || m.Aside || m.From.ID != q.call.turn.requester.ID || len(m.Files) > 0 || strings.TrimSpace(m.Text) == "" {
		return false
	}
	q.replies = append(q.replies, m)
	return true
}

// answered takes what came of a question, or of a reply. What nobody took is said to
// the model.
func (s *state) answered(b memory.Answered) {
	q := s.questionOf(b.Question)
	if q == nil {
		s.unsay(b.Message) // the question is not loaded any more
		return
	}
	if q.over != nil {
		return
	}
	q.replies = slices.DeleteFunc(q.replies, func(m *message) bool { return m.seq == b.Message })
	if b.Answer.How == chat.Unfit {
		q.unfit = append(q.unfit, b)
		return
	}
	q.over = &b
	for _, m := range q.replies {
		s.hears(m)
	}
	q.replies = nil
	if s.open != nil {
		slices.SortStableFunc(s.open.msgs, func(a, b *message) int { return cmp.Compare(a.seq, b.seq) })
	}
	s.nextQuestion()
}

// unsay takes a message back that was a reply.
func (s *state) unsay(seq uint64) {
	is := func(m *message) bool { return m.seq == seq }
	s.waiting = slices.DeleteFunc(s.waiting, is)
	if s.open != nil {
		s.open.msgs = slices.DeleteFunc(s.open.msgs, is)
	}
}

// asked brings the questions of tools further.
func (d *decision) asked() Action {
	for _, q := range d.s.questions {
		if q.over == nil {
			if act := d.askingNow(q); act != nil {
				return act
			}
		} else if act := d.askedThen(q); act != nil {
			return act
		}
	}
	return nil
}

// askingNow asks a question, and looks at the replies.
func (d *decision) askingNow(q *asking) Action {
	switch {
	case d.forsaken(q):
		return ends(q, chat.Dropped)
	case q != d.s.asksNow():
		return nil
	case !d.s.now.Before(q.deadline()):
		return ends(q, chat.Unanswered)
	case q.postedIn == 0:
		return Post{Post: d.question(q), Look: d.before(q.seq)}
	case len(q.replies) > 0:
		if b := q.read(q.replies[0]); b.Answer.How == chat.Unfit || q.By == d.log.claim.Self {
			return Record{[]memory.Body{b}}
		}
	}
	return d.unfit(q)
}

// askedThen has the message say what came of it.
func (d *decision) askedThen(q *asking) Action {
	if q.ref.IsZero() || d.s.has(q.name()+"/done") {
		return d.unfit(q)
	}
	return Edit{Ref: q.ref, Post: d.question(q), Key: q.name() + "/done"}
}

// forsaken says whether nobody waits for the answer: the call is over, the turn is
// stopped, the question can't be shown, or what asked ended with its claim.
func (d *decision) forsaken(q *asking) bool {
	t := q.call.turn
	return q.call.result != nil || q.refused || t != d.s.open || t.stopped != nil || t.failed != nil ||
		!q.call.started && q.Claim != d.log.claim.Token
}

func ends(q *asking, how chat.How) Action {
	return Record{[]memory.Body{memory.Answered{Question: q.ID, Answer: chat.Answer{How: how}}}}
}

// unfit tells the person that a reply is none.
func (d *decision) unfit(q *asking) Action {
	for _, b := range q.unfit {
		name := fmt.Sprintf("unfit/%d", b.Message)
		if !d.s.has(name) {
			return d.notice(name, chat.MessageRef{}, textUnfit(q.Asks.From, b.Why), d.s.last)
		}
	}
	return nil
}

// read is what a reply comes to.
func (q *asking) read(m *message) memory.Answered {
	b := memory.Answered{Question: q.ID, Message: m.seq, Answer: chat.Answer{How: chat.Unfit, By: m.From, Text: m.Text}}
	if question.Declines(m.Text) {
		b.Answer.How = chat.Declined
		return b
	}
	fields, err := question.Fields(q.Asks.Schema)
	var values json.RawMessage
	if err == nil {
		values, err = question.Read(fields, m.Text)
	}
	if err == nil {
		err = q.fits(values)
	}
	if err != nil {
		b.Why = err.Error()
		return b
	}
	b.Answer.How, b.Answer.Values = chat.Accepted, string(values)
	return b
}

// fits holds values to what the question's schema wants of them.
func (q *asking) fits(values json.RawMessage) error {
	schema, err := args.Compile(json.RawMessage(q.Asks.Schema))
	if err != nil {
		return err
	}
	if wrong := schema.Check(values); len(wrong) > 0 {
		return fmt.Errorf("%s", chat.Visible(strings.Join(wrong, "; ")))
	}
	return nil
}

// Answer is what came of a question; ok is false while it is open, or unknown.
func (l *Log) Answer(id string) (a chat.Answer, ok bool) {
	q := l.state.questionOf(id)
	if q == nil || q.over == nil {
		return a, false
	}
	return q.over.Answer, true
}

// Reply is what whoever waits for the answer to a question makes of the reply that
// the log holds, for a process that does not hold the thread; ok is false where
// there is none.
func (l *Log) Reply(id string) (b memory.Answered, ok bool) {
	q := l.state.questionOf(id)
	if q == nil || q != l.state.asksNow() || len(q.replies) == 0 {
		return b, false
	}
	return q.read(q.replies[0]), true
}

// AnswerBy is when the question that is asked now ends; zero where there is none.
func (l *Log) AnswerBy() time.Time {
	if q := l.state.asksNow(); q != nil {
		return q.deadline()
	}
	return time.Time{}
}

// question is the question as people see it. What the server wrote stands in a fence,
// in which nothing of it means anything. Whoever is asked is mentioned while it waits,
// where approvals of that tool mention people.
func (d *decision) question(q *asking) chat.Post {
	text := textAsks(q)
	tool, _ := d.a.tool(q.call.Tool)
	whom := &chat.Summons{Approvers: []string{chat.Requester}, Requester: q.call.turn.requester, Quiet: tool.Rules.Quiet || q.over != nil}
	return chat.Post{
		Key: memory.PostKey(q.name(), text), ReplyTo: q.call.turn.replyTo(),
		Text: &chat.Text{Markdown: text, Notice: true, Summons: whom},
	}
}

func textAsks(q *asking) string {
	fields, err := question.Fields(q.Asks.Schema)
	if err != nil {
		fields = nil // it was not asked
	}
	shown := strings.TrimSpace(chat.Visible(q.Asks.Text))
	if more := question.Describe(fields); more != "" {
		shown = strings.TrimSpace(shown + "\n\n" + more)
	}
	verb := "asks"
	if q.over != nil {
		verb = "asked"
	}
	return fmt.Sprintf("%s %s:\n%s\n%s", q.Asks.From, verb, speak.Fence(shown), textAnswer(q, fields))
}

// textAnswer says how a question is answered, or what came of it.
func textAnswer(q *asking, fields []question.Field) string {
	if q.over != nil {
		by := q.over.Answer.By.Display()
		switch q.over.Answer.How {
		case chat.Accepted:
			return "Answered by " + by + "."
		case chat.Declined:
			return "Declined by " + by + "."
		case chat.Unanswered:
			return "There was no answer in time, so it was declined."
		}
		return "The call ended before there was an answer."
	}
	how := "write the answer here"
	switch {
	case len(fields) == 0:
		how = "say `yes` here if you agree"
	case len(fields) > 1:
		how = fmt.Sprintf("write a line for each here (`%s: …`)", fields[0].Name)
	}
	return fmt.Sprintf("%s, %s within %d minutes; `%s` says no. It goes to %s as you write it: no passwords, no keys.",
		q.call.turn.requester.Display(), how, int(chat.AnswerWithin.Minutes()), question.Decline, q.Asks.From)
}

func textUnfit(from, why string) string {
	return fmt.Sprintf("That is no answer to what %s asks: %s. Try again, or say `%s`.", from, strings.TrimSuffix(why, "."), question.Decline)
}
