package view

import (
	"fmt"
	"strings"

	"nod/agent/phrase"
	"nod/agent/speak"
	"nod/agent/thread"
	"nod/chat"
	"nod/chat/question"
)

// Answer is the answer of a turn as people read it.
func Answer(s *thread.Thread, t *thread.Turn) *chat.Text {
	out := &chat.Text{Markdown: shownAnswer(t.Draft())}
	if t.Tries == 0 {
		return out
	}
	head := fmt.Sprintf("**Try %d**", t.Tries+1)
	if t.Origin() != nil {
		head += " · " + ranText(t, phrase.Code)
	}
	out.Markdown = head + "\n\n" + out.Markdown
	if t.ReplyTo() == t.To {
		out.Waits = &chat.Waiter{By: t.Requester, Since: t.At}
	}
	if first := s.Turn(t.Again); first != nil && !s.Posts.Refs[first.AnswerName()].IsZero() {
		out.Earlier = &chat.Earlier{Ref: s.Posts.Refs[first.AnswerName()], Try: t.Tries, Markdown: shownAnswer(first.Draft())}
	}
	return out
}

// Texts of an answer that is not whole.
const (
	textCut      = "(The answer is cut off here: it is longer than the model may write at once. Ask me to go on.)"
	textWithheld = "(The answer ends here: the provider's content filter cut it off.)"
)

// shownAnswer is the text of an answer. It says so when the answer is not whole.
func shownAnswer(st *thread.Step) string {
	if st == nil {
		return ""
	}
	switch {
	case st.Cut:
		return speak.Unfenced(st.Answer) + "\n\n" + textCut
	case st.Withheld:
		return speak.Unfenced(st.Answer) + "\n\n" + textWithheld
	}
	return st.Answer
}

// Report tells people the result of a call that one of them made.
func Report(c *thread.Call) string {
	r, head := c.Result, fmt.Sprintf("`%s`, run by %s", strings.ReplaceAll(c.Tool, "`", "'"), phrase.Name(*c.Step.By))
	switch {
	case c.Step.Refused():
		return r.Text
	case r.State == chat.CallDone && strings.TrimSpace(r.Text) == "":
		return head + ": " + phrase.Fate(c) + "."
	case r.State == chat.CallDone && c.Tool == thread.SkillTool:
		return head + ": its text stands before the next turn."
	case r.State == chat.CallDone:
		return head + ": " + phrase.Fate(c) + ".\n" + speak.Fence(r.Text)
	case r.State == chat.CallFailed:
		return head + ", failed.\n" + speak.Fence(r.Text)
	case r.State == chat.CallUnknown:
		return head + ": outcome unknown. The program stopped while this ran; it may or may not have taken effect, and is not run again by itself."
	case c.Decided == nil || c.Decided.Reason != "":
		return head + ", did not run: " + r.Text
	}
	return head + ", did not run. " + headline(c) + "."
}

// Shareable lists the files of a turn that people get, with the names of their posts.
func Shareable(s *thread.Thread, t *thread.Turn) (files []chat.File, names []string) {
	for c := range t.EachCall() {
		if c.Result == nil {
			continue
		}
		for i, f := range c.Result.Artifacts {
			if !f.Quiet && f.Blob != "" && !s.IsDropped(f) {
				files, names = append(files, f), append(names, thread.FileName(c.ID, i))
			}
		}
	}
	return files, names
}

// QuestionText is a question of a tool as people read it. The words of the server stand in
// a fence, where they mean nothing.
func QuestionText(q *thread.Question) string {
	fields, err := question.Fields(q.Asks.Schema)
	if err != nil {
		fields = nil // it was not asked
	}
	shown := strings.TrimSpace(chat.Visible(q.Asks.Text))
	if more := question.Describe(fields); more != "" {
		shown = strings.TrimSpace(shown + "\n\n" + more)
	}
	verb := "asks"
	if q.Over != nil {
		verb = "asked"
	}
	return fmt.Sprintf("%s %s:\n%s\n%s", q.Asks.From, verb, speak.Fence(shown), textAnswer(q, fields))
}

// textAnswer says how to answer a question, or how it ended.
func textAnswer(q *thread.Question, fields []question.Field) string {
	if q.Over != nil {
		by := phrase.Name(q.Over.Answer.By)
		switch q.Over.Answer.How {
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
		phrase.Name(q.Call.Turn.Requester), how, int(chat.AnswerWithin.Minutes()), question.Decline, q.Asks.From)
}
