package thread

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/chat"
	"nod/chat/question"
	"nod/llm/args"
	"nod/memory"
)

// A tool may ask its requester a question in the middle of a call. A thread asks one
// question at a time, since the next message of that person is the reply. A reply is
// nothing else: no model sees it, and it makes no address free. The process that waits
// takes it. Where none waits any more, the reply stays a message like any other.

// Question is a question of a tool to a person.
type Question struct {
	memory.Question
	Seq      uint64
	Call     *Call
	since    time.Time // when its time began
	PostedIn uint64    // Seq of its post
	Ref      chat.MessageRef
	Refused  bool       // the platform does not take it
	Replies  []*Message // that are not read yet
	Unfit    []memory.Answered
	Over     *memory.Answered
	Held     bool // of a call that goes on at its server: no process waits for the answer
	late     bool // the person wrote since it ended without their answer
}

// PostName names the post of the question.
func (q *Question) PostName() string { return "question/" + q.ID }

// Deadline is when the time to answer is over.
func (q *Question) Deadline() time.Time { return q.since.Add(chat.AnswerWithin) }

// takeQuestion takes a question. A question of an unknown call is dropped.
func (s *Thread) takeQuestion(e memory.Entry, b memory.Question) {
	c := s.Calls[b.Call]
	if c == nil || s.QuestionOf(b.ID) != nil {
		return
	}
	s.Questions = append(s.Questions, &Question{Question: b, Seq: e.Seq, Call: c})
	s.nextQuestion()
}

// takeHeld takes the handle of a call, and the questions beside it. A handle may come twice:
// in a commit whose answer was lost, and by letter.
func (s *Thread) takeHeld(e memory.Entry, b memory.Held) {
	c := s.Calls[b.Call]
	if c == nil || c.Result != nil || slices.Contains(c.Run.Keys, b.Handle.Key) {
		return
	}
	if c.Run.Keys = append(c.Run.Keys, b.Handle.Key); len(c.Run.Keys) == 1 {
		c.Run.Since = e.At
	}
	c.Run.Handle = &b.Handle
	for i, asks := range b.Handle.Asks {
		q := memory.Question{ID: fmt.Sprintf("%s?%d-%d", c.ID, len(c.Run.Keys), i+1), Call: c.ID, Asks: asks}
		s.Questions = append(s.Questions, &Question{Question: q, Seq: e.Seq, Call: c, Held: true})
	}
	s.nextQuestion()
}

// Resumed is a call as its tool goes on with it; nil where the call begins. It is not ready
// while people have questions of its server to answer.
func (s *Thread) Resumed(c *Call) (r *chat.Resumed, ready bool) {
	if c.Run.Handle == nil {
		return nil, true
	}
	r = &chat.Resumed{Handle: *c.Run.Handle, Since: c.Run.Since}
	for i := range r.Asks {
		q := s.QuestionOf(fmt.Sprintf("%s?%d-%d", c.ID, len(c.Run.Keys), i+1))
		if q == nil || q.Over == nil {
			return r, false
		}
		r.Answers = append(r.Answers, q.Over.Answer)
	}
	return r, true
}

// Tasks lists the calls of the open turn that go on at a server by themselves.
func (s *Thread) Tasks() []*Call {
	return s.Open.callsThat(func(c *Call) bool { return c.Result == nil && c.Run.Handle != nil && c.Run.Handle.Repeats })
}

// QuestionOf finds a question by its id.
func (s *Thread) QuestionOf(id string) *Question {
	return first(s.Questions, func(q *Question) bool { return q.ID == id })
}

// AsksNow is the question that is asked now; nil where there is none.
func (s *Thread) AsksNow() *Question {
	return first(s.Questions, func(q *Question) bool { return q.Over == nil })
}

// Inquirer names the server that waits for an answer in the middle of a call; "" where
// none does.
func (s *Thread) Inquirer(c *Call) string {
	if q := s.AsksNow(); q != nil && q.Call == c && q.PostedIn > 0 {
		return q.Asks.From
	}
	return ""
}

// nextQuestion starts the clock of the question that is asked now.
func (s *Thread) nextQuestion() {
	if q := s.AsksNow(); q != nil && q.since.IsZero() {
		q.since = s.Now
	}
}

// takeQuestionPosted notes where a question stands. The reply may be in the log already.
func (s *Thread) takeQuestionPosted(seq uint64, name string, b memory.Posted) {
	id, ok := strings.CutPrefix(name, "question/")
	if !ok {
		return
	}
	q := s.QuestionOf(id)
	if q == nil {
		return
	}
	q.PostedIn, q.Ref, q.Refused = seq, b.Ref, b.Ref.IsZero()
	if s.Open != nil && q == s.AsksNow() && !b.Stood.IsZero() {
		s.Open.Msgs = slices.DeleteFunc(s.Open.Msgs, func(m *Message) bool { return !m.seen && !m.Sent.Before(b.Stood) && s.takeReply(m) })
	}
}

// takeReply takes a message that answers the question that stands; ok is false for any
// other.
func (s *Thread) takeReply(m *Message) (ok bool) {
	q := s.AsksNow()
	if q == nil || q.PostedIn == 0 || q.Refused || q.Call.Result != nil || !m.At.Before(q.Deadline()) {
		return false
	}
	if _, order := m.Order(); order || m.Aside || m.From.ID != q.Call.Turn.Requester.ID || len(m.Files) > 0 || strings.TrimSpace(m.Text) == "" {
		return false
	}
	q.Replies = append(q.Replies, m)
	return true
}

// draws says whether a server's question may have asked for a message: one stands, or one of
// this person ended without their answer, and its time is not over or they wrote nothing since.
func (s *Thread) draws(m *Message) (drawn bool) {
	for _, q := range s.Questions {
		switch {
		case q.Refused:
		case q.Over == nil: // it may stand before the log says so
			drawn = true
		case q.Call.Turn.Requester.ID == m.From.ID && (q.Over.Answer.How == chat.Dropped || q.Over.Answer.How == chat.Unanswered):
			drawn = drawn || !q.late || m.At.Before(q.Deadline())
			q.late = true
		}
	}
	return drawn
}

// takeAnswer takes the outcome of a question or a reply. Replies that were not used become
// messages for the model.
func (s *Thread) takeAnswer(b memory.Answered) {
	q := s.QuestionOf(b.Question)
	if q == nil {
		s.unsayReply(b.Message) // the question is not loaded any more
		return
	}
	if q.Over != nil {
		return
	}
	q.Replies = slices.DeleteFunc(q.Replies, func(m *Message) bool { return m.Seq == b.Message })
	if b.Answer.How == chat.Unfit {
		q.Unfit = append(q.Unfit, b)
		return
	}
	q.Over = &b
	for _, m := range q.Replies {
		s.hearMessage(m)
	}
	q.Replies = nil
	if s.Open != nil {
		inOrder(s.Open.Msgs)
	}
	s.nextQuestion()
}

func (s *Thread) unsayReply(seq uint64) {
	is := func(m *Message) bool { return m.Seq == seq }
	s.Inbox.Waiting = slices.DeleteFunc(s.Inbox.Waiting, is)
	if s.Open != nil {
		s.Open.Msgs = slices.DeleteFunc(s.Open.Msgs, is)
	}
}

// Read reads a reply.
func (q *Question) Read(m *Message) memory.Answered {
	b := memory.Answered{Question: q.ID, Message: m.Seq, Answer: chat.Answer{How: chat.Unfit, By: m.From, Text: m.Text}}
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

// fits checks values against the schema of the question.
func (q *Question) fits(values json.RawMessage) error {
	schema, err := args.Compile(json.RawMessage(q.Asks.Schema))
	if err != nil {
		return err
	}
	if wrong := schema.Check(values); len(wrong) > 0 {
		return fmt.Errorf("%s", chat.Visible(strings.Join(wrong, "; ")))
	}
	return nil
}

// Reply reads the reply that the log holds to a question, for a process that does not hold
// the thread; ok is false where there is none.
func (s *Thread) Reply(id string) (b memory.Answered, ok bool) {
	q := s.QuestionOf(id)
	if q == nil || q != s.AsksNow() || len(q.Replies) == 0 {
		return b, false
	}
	return q.Read(q.Replies[0]), true
}
