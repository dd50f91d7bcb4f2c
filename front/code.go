package front

import (
	"context"
	"fmt"

	"nod/chat"
	"nod/chat/form"
)

// Where a call needs a code, its form is the only way to approve it. What is typed there
// goes to the inbox, and nowhere else.

// mostInForm is how much of the arguments the form shows, in characters. The card shows
// them whole.
const mostInForm = 1000

// openCode gives the form that asks for a person's code, if they have one.
func (f *Front) openCode(ctx context.Context, c Click) (Answer, error) {
	p, over, err := f.clicked(ctx, &c)
	if err != nil || over.Alone != "" {
		return over, err
	}
	within, cancel := context.WithTimeout(ctx, cardWait)
	defer cancel()
	refused, err := f.o.Inbox.Code(within, c.Thread, codeOf(c, ""))
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("look for a person's code: %w", err)
	case refused != "":
		return Answer{Alone: refused + "."}, nil
	}
	args := []rune(chat.Exact(chat.Flat(p.Args)))
	if len(args) > mostInForm {
		args = append(args[:mostInForm], '…')
	}
	return Answer{Form: &Form{
		Click: c, Title: "Approve: your code", Note: fmt.Sprintf("%s\n%s\n%s", chat.Exact(chat.Flat(p.Tool)), string(args), p.Digest[:min(len(p.Digest), DigestDigits)]),
		Fields: []form.Field{{ID: "code", Label: "Code", About: "The six digits that your authenticator shows", Required: true}},
		Else:   "Press it again.",
	}}, nil
}

// takeCode puts the vote with a code. Whether the person may vote is judged later.
func (f *Front) takeCode(ctx context.Context, s Sent) (Answer, error) {
	if s.Closed || len(s.Fields) == 0 || s.Fields[0].Value == "" {
		return Answer{}, nil
	}
	refused, err := f.o.Inbox.Code(ctx, s.Thread, codeOf(s.Click, s.Fields[0].Value), s.ID+":code")
	if err != nil || refused == "" {
		return Answer{}, err
	}
	return Answer{Alone: refused + ".", Wrong: &form.Wrong{ID: s.Fields[0].ID, Why: refused}}, nil
}

func codeOf(c Click, digits string) chat.Code {
	code := chat.Code{Call: c.Call, By: c.By, Digest: c.Digest, Digits: digits}
	code.By.Barred = "" // the judge looks them up
	if c.Verb == GrantBy {
		code.Grant = &chat.Grant{}
	}
	return code
}
