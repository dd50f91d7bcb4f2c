package view

import (
	"time"

	"nod/agent/phrase"
	"nod/agent/thread"
	"nod/chat"
	"nod/memory"
)

// History lists what a thread has shown so far, for an empty screen: messages, answers,
// folded steps, approvals.
func History(s *thread.Thread) []chat.Line {
	var out []chat.Line
	for _, t := range s.Turns {
		out = append(out, viewLines(s, t)...)
	}
	for _, m := range s.Inbox.Waiting {
		if m.Form != nil {
			continue
		}
		out = append(out, chat.Line{At: m.At, Message: &m.Message, Ref: m.Ref})
	}
	return out
}

// viewLines lists what a turn has shown.
func viewLines(s *thread.Thread, t *thread.Turn) []chat.Line {
	var out []chat.Line
	for _, m := range t.Live() {
		if m.Form == nil {
			out = append(out, chat.Line{At: m.At, Message: &m.Message, Ref: m.Ref})
		}
	}
	if t.Acts() {
		steps := Steps(s, t, nil)
		out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: t.StepsName(), Steps: &steps}, Ref: s.Posts.Refs[t.StepsName()]})
	}
	for c := range t.EachCall() {
		if c.Asked != nil && !c.Card.Ref.IsZero() {
			card := plainCard(s, c)
			out = append(out, chat.Line{At: c.Ask.At, Post: &card, Ref: c.Card.Ref})
			for _, k := range c.Copies.Cards {
				card := card
				card.Approval = Elsewhere(s, c, k.Place)
				out = append(out, chat.Line{At: c.Ask.At, Post: &card, Ref: k.Ref, Elsewhere: k.At})
			}
		}
	}
	files, keys := Shareable(s, t)
	for i, key := range keys {
		if ref, ok := s.Posts.Refs[key]; ok {
			out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: key, File: &files[i]}, Ref: ref})
		}
	}
	if ref, ok := s.Posts.Refs[t.ReportName()]; ok {
		out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: t.ReportName(), Text: &chat.Text{Markdown: Report(t.Steps[0].Calls[0]), Notice: true}}, Ref: ref})
	}
	if ref, ok := s.Posts.Refs[t.AnswerName()]; ok {
		out = append(out, chat.Line{At: t.At, Post: &chat.Post{Key: t.AnswerName(), Text: Answer(s, t)}, Ref: ref})
	}
	return out
}

// Told is a finished turn as people saw it, with their opinions of its answer.
type Told struct {
	Turn     uint64
	Messages []chat.Message
	Answer   string
	Opinions []thread.Opinion
}

// Turns lists the finished turns of a thread.
func Turns(entries []memory.Entry) []Told {
	var out []Told
	for _, t := range thread.Read(entries).Turns {
		if !t.Ended {
			continue
		}
		told := Told{Turn: t.ID, Answer: t.Answer(), Opinions: t.Opinions}
		for _, m := range t.Asks() {
			told.Messages = append(told.Messages, m.Message)
		}
		out = append(out, told)
	}
	return out
}

// FilesOf lists the names of the files that a thread holds.
func FilesOf(entries []memory.Entry) []string { return phrase.FileNames(thread.Read(entries).Held()) }

// Watched is a turn that is not over, for people who watch nod at work.
type Watched struct {
	Requester chat.User
	Message   chat.Message // that it answers
	Since     time.Time    // when that came
	Status    string       // the current step in a few words, as the steps message says it
	Calls     int          // of the model, so far
	Asks      []Asking
}

// Asking is an approval that waits.
type Asking struct {
	chat.Approval
	At       time.Time // since when
	Approved []chat.User
}

// Watch gives the turn that is not over; ok is false where there is none. A waiting
// message is a turn already.
func Watch(s *thread.Thread) (w Watched, ok bool) {
	t := s.Open
	switch {
	case t == nil && len(s.Inbox.Waiting) == 0:
		return Watched{}, false
	case t == nil:
		m := s.Inbox.Waiting[0]
		return Watched{Requester: m.From, Message: m.Message, Since: m.At, Status: "Thinking"}, true
	}
	w = Watched{Requester: t.Requester, Since: t.At, Status: Status(s, t), Calls: len(t.Steps)}
	if msgs := t.Live(); len(msgs) > 0 {
		w.Message, w.Since = msgs[0].Message, msgs[0].At
	}
	for c := range t.EachCall() {
		if !c.Pending() {
			continue
		}
		a := Asking{Approval: Approval(s, c), At: c.Ask.At}
		for _, v := range c.Standing() {
			a.Approved = append(a.Approved, v.By)
		}
		w.Asks = append(w.Asks, a)
	}
	return w, true
}
