package agent

import (
	"fmt"
	"strings"

	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/question"
	"nod/memory"
)

// asked brings the questions of tools further.
func (d *decision) asked() Action {
	for _, q := range d.s.Questions {
		if q.Over == nil {
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
func (d *decision) askingNow(q *thread.Question) Action {
	switch {
	case d.forsaken(q):
		return ends(q, chat.Dropped)
	case q != d.s.AsksNow():
		return nil
	case !d.s.Now.Before(q.Deadline()):
		return ends(q, chat.Unanswered)
	case q.PostedIn == 0:
		return Post{Post: d.question(q), Look: d.before(q.Seq)}
	case len(q.Replies) > 0:
		if b := q.Read(q.Replies[0]); b.Answer.How == chat.Unfit || q.By == d.log.claim.Self {
			return Record{[]memory.Body{b}}
		}
	}
	return d.unfit(q)
}

// askedThen has the message say what came of it.
func (d *decision) askedThen(q *thread.Question) Action {
	if q.Ref.IsZero() || d.s.Has(q.PostName()+"/done") {
		return d.unfit(q)
	}
	return Edit{Ref: q.Ref, Post: d.question(q), Key: q.PostName() + "/done"}
}

// forsaken says whether nobody waits for the answer: the call is over, the turn is
// stopped, the question can't be shown, or what asked ended with its claim.
func (d *decision) forsaken(q *thread.Question) bool {
	t := q.Call.Turn
	return q.Call.Result != nil || q.Refused || t != d.s.Open || t.Stopped != nil || t.Failed != nil ||
		!q.Call.Started && q.Claim != d.log.claim.Token
}

func ends(q *thread.Question, how chat.How) Action {
	return Record{[]memory.Body{memory.Answered{Question: q.ID, Answer: chat.Answer{How: how}}}}
}

// unfit tells the person that a reply is none.
func (d *decision) unfit(q *thread.Question) Action {
	for _, b := range q.Unfit {
		name := fmt.Sprintf("unfit/%d", b.Message)
		if !d.s.Has(name) {
			return d.notice(name, chat.MessageRef{}, textUnfit(q.Asks.From, b.Why), d.s.Last)
		}
	}
	return nil
}

// question is the question as people see it. What the server wrote stands in a fence,
// in which nothing of it means anything. Whoever is asked is mentioned while it waits,
// where approvals of that tool mention people.
func (d *decision) question(q *thread.Question) chat.Post {
	text := view.QuestionText(q)
	tool, _ := d.a.Tools.Find(q.Call.Tool)
	whom := &chat.Summons{Approvers: []string{chat.Requester}, Requester: q.Call.Turn.Requester, Quiet: tool.Rules.Quiet || q.Over != nil}
	return chat.Post{
		Key: memory.PostKey(q.PostName(), text), ReplyTo: q.Call.Turn.ReplyTo(),
		Text: &chat.Text{Markdown: text, Notice: true, Summons: whom},
	}
}

func textUnfit(from, why string) string {
	return fmt.Sprintf("That is no answer to what %s asks: %s. Try again, or say `%s`.", from, strings.TrimSuffix(why, "."), question.Decline)
}
