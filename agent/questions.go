package agent

import (
	"fmt"
	"strings"

	"nod/agent/do"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/question"
	"nod/memory"
)

// asked brings the questions of tools further.
func (d *decision) asked() do.Action {
	for _, q := range d.thread.Questions {
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

// askingNow asks a question, and reads the replies.
func (d *decision) askingNow(q *thread.Question) do.Action {
	switch {
	case d.forsaken(q):
		return endQuestion(q, chat.Dropped)
	case q != d.thread.AsksNow():
		return nil
	case len(q.Replies) > 0: // they came in time, although nobody may have read them then
		if b := q.Read(q.Replies[0]); b.Answer.How == chat.Unfit || q.Held || q.By == d.log.claim.Self {
			return do.Record{Bodies: []memory.Body{b}}
		}
	}
	switch {
	case !d.thread.Now.Before(q.Deadline()):
		return endQuestion(q, chat.Unanswered)
	case q.PostedIn == 0:
		return do.Post{Post: d.questionPost(q), Look: d.before(q.Seq)}
	}
	return d.sayUnfit(q)
}

// askedThen has the message of a question show its end.
func (d *decision) askedThen(q *thread.Question) do.Action {
	if q.Ref.IsZero() || d.thread.Has(q.PostName()+"/done") {
		return d.sayUnfit(q)
	}
	return do.Edit{Ref: q.Ref, Post: d.questionPost(q), Key: q.PostName() + "/done"}
}

// forsaken says whether nobody waits for the answer: the call is over, the turn is
// stopped, the question can't be shown, or its claim ended.
func (d *decision) forsaken(q *thread.Question) bool {
	t := q.Call.Turn
	return q.Call.Result != nil || q.Refused || t != d.thread.Open || t.Stopped != nil || t.Failed != nil ||
		!q.Held && !q.Call.Started && q.Claim != d.log.claim.Token
}

func endQuestion(q *thread.Question, how chat.How) do.Action {
	return do.Record{Bodies: []memory.Body{memory.Answered{Question: q.ID, Answer: chat.Answer{How: how}}}}
}

func (d *decision) sayUnfit(q *thread.Question) do.Action {
	for _, b := range q.Unfit {
		name := fmt.Sprintf("unfit/%d", b.Message)
		if !d.thread.Has(name) {
			text := fmt.Sprintf("That is no answer to what %s asks: %s. Try again, or say `%s`.", q.Asks.From, strings.TrimSuffix(b.Why, "."), question.Decline)
			return d.sayNotice(name, chat.MessageRef{}, text, d.thread.Last)
		}
	}
	return nil
}

// questionPost is the post of a question. It mentions the person while it waits, where
// approvals of that tool mention people.
func (d *decision) questionPost(q *thread.Question) chat.Post {
	text := view.QuestionText(q)
	tool, _ := d.agent.Tools.Find(q.Call.Tool)
	whom := &chat.Summons{Approvers: []string{chat.Requester}, Requester: q.Call.Turn.Requester, Quiet: tool.Rules.Quiet || q.Over != nil}
	return chat.Post{
		Key: memory.PostKey(q.PostName(), text), ReplyTo: q.Call.Turn.ReplyTo(),
		Text: &chat.Text{Markdown: text, Notice: true, Summons: whom},
	}
}
