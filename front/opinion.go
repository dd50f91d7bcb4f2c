package front

import (
	"context"

	"nod/chat"
)

// whatWrong asks in a message what a form asks.
const whatWrong = "I noted that this answer was not good. What was wrong with it?"

// takeOpinion puts a person's opinion of an answer. After a bad one it asks once for the
// reason.
func (f *Front) takeOpinion(ctx context.Context, c Click) (Answer, error) {
	if c.By.Barred != "" {
		return Answer{Alone: unheardText}, nil
	}
	if c.Verb != Tell {
		if err := f.putOpinion(ctx, c, ""); err != nil || c.Verb == Good || !f.asked.Add(clicked{c.On, c.By.ID}) {
			return Answer{Alone: Noted}, err
		}
	}
	c.Verb = Bad
	return Answer{Form: &Form{Click: c, Title: "What was wrong?", Hint: "It is out of date, for example", Most: MostReason}}, nil
}

// takeCriticism puts a person's words on a bad answer.
func (f *Front) takeCriticism(ctx context.Context, s Sent) (Answer, error) {
	s.Text = chat.Flat(s.Text)
	switch {
	case s.By.Barred != "":
		return Answer{Alone: unheardText}, nil
	case s.Closed, s.Text == "":
		return Answer{Alone: Noted}, nil
	}
	return Answer{Alone: Noted}, f.putOpinion(ctx, s.Click, s.Text)
}

func (f *Front) putOpinion(ctx context.Context, c Click, text string) error {
	return f.Put(f.o.Inbox.Feedback(ctx, c.On, c.By, c.Verb == Good, text, c.ID))
}

// Wonder asks a person who reacted to an answer with 👎 what was wrong, with a button that
// opens the form: a reaction lets none be opened. The zero Answer: they were asked, or may
// not say it.
func (f *Front) Wonder(thread chat.ThreadID, by chat.User, on chat.MessageRef) Answer {
	if by.Barred != "" || !f.asked.Add(clicked{on, by.ID}) {
		return Answer{}
	}
	return f.wonder(Click{Thread: thread, By: by, On: on})
}

func (f *Front) wonder(c Click) Answer {
	c.Verb = Tell
	return Answer{Alone: whatWrong, Button: &c}
}
