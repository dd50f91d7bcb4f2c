package front

import (
	"context"
	"fmt"
	"time"

	"nod/chat"
	"nod/chat/form"
	"nod/chat/markdown"
)

// Two forms hold the arguments of a call: Edit changes a call that waits, and Rerun makes a
// call of a turn that is over that person's own. Both have to open within seconds.

// cardWait is how long the store may take to give a form's values.
const cardWait = 1500 * time.Millisecond

// The first words of these forms.
const (
	editNote  = "The card shows what you send, beside what it was. All votes so far are void then, and nothing runs before somebody approves it."
	rerunNote = "What you send runs as a call of yours, after an approval where one is needed, and the question is answered anew from there. What ran before stays done."
)

// openEdit gives the form of a call that waits. A card that was changed since opens the
// newest.
func (f *Front) openEdit(ctx context.Context, c Click) (Answer, error) {
	p, over, err := f.clicked(ctx, &c)
	if err != nil || over.Alone != "" {
		return over, err
	}
	return f.argsForm(Form{
		Click: c, Title: form.Title(&p, f.o.Room.Title), Note: editNote, Args: p.Args, Fields: form.Of(p.Parameters, p.Args, f.o.Room),
		Else: fmt.Sprintf("In a message, `edit %d {…}` does the same.", p.Number),
	}), nil
}

// clicked is the card of a click as it is now, for which the click counts from here on. over
// tells the person that nothing waits there any more.
func (f *Front) clicked(ctx context.Context, c *Click) (p chat.Approval, over Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, cardWait)
	defer cancel()
	p, ok, err := f.o.Inbox.Card(ctx, c.Thread, c.Call)
	switch {
	case err != nil:
		return p, over, fmt.Errorf("look at a card: %w", err)
	case !ok, p.Outcome != "":
		over.Alone = overText
	}
	c.Digest = p.Digest
	return p, over, nil
}

// Again is a call that can be run again, and what stands on its button.
type Again struct{ Call, Label string }

// Reruns lists the calls of a turn that can be run again.
func Reruns(s *chat.Steps, can func(c chat.ToolCall) bool) (out []Again) {
	n := 0
	for _, item := range s.Items {
		for _, c := range item.Calls {
			if n++; can(c) {
				out = append(out, Again{c.ID, fmt.Sprintf("%s: %d %s", form.AgainLabel, n, chat.Exact(chat.Flat(c.Tool)))})
			}
		}
	}
	if len(out) == 1 {
		out[0].Label = form.AgainLabel
	}
	return out
}

// openRerun gives the form of a call of a turn that is over.
func (f *Front) openRerun(ctx context.Context, c Click) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, cardWait)
	defer cancel()
	v, why, err := f.o.Inbox.Again(ctx, c.Thread, c.Call)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("look at a call: %w", err)
	case why != "":
		return Answer{Alone: "It can't be run again: " + chat.Exact(why) + "."}, nil
	}
	return f.argsForm(Form{
		Click: c, Title: form.AgainTitle(v.Tool, f.o.Room.Title), Note: rerunNote, Args: v.Args, Fields: form.Of(v.Parameters, v.Args, f.o.Room),
		Else: fmt.Sprintf("In a message, `run %d {…}` does the same.", v.Number),
	}), nil
}

func (f *Front) argsForm(fm Form) Answer {
	if len(fm.Fields) == 0 {
		return Answer{Alone: "These arguments are too long for a form. " + fm.Else}
	}
	return Answer{Form: &fm}
}

// takeArgs puts the arguments that somebody sent with one of these forms. To run a call
// they have to be heard; whether they may change one is judged later.
func (f *Front) takeArgs(ctx context.Context, s Sent) (Answer, error) {
	not, put := "I did not change it: ", f.o.Inbox.Change
	if s.Verb == Rerun {
		not, put = "I did not run it: ", f.o.Inbox.RunAgain
	}
	var ids []string
	for _, field := range s.Fields {
		ids = append(ids, field.ID)
	}
	args, wrong := form.Read(s.Fields)
	why := ""
	switch {
	case s.Closed:
		return Answer{}, nil
	case wrong != nil:
		name := ""
		if len(wrong.ID) > 1 {
			name = wrong.ID[1:] + ": "
		}
		return Answer{Alone: not + name + wrong.Why + ".", Wrong: wrong}, nil
	case f.o.Room.Card > 0 && markdown.UTF16(f.o.Args(args)) > f.o.Room.Card: // who approves has to see what runs
		why = fmt.Sprintf("these arguments are longer than a card can show (%d characters); in a message, the words `edit` and `run` take them", f.o.Room.Card)
	case s.Verb == Rerun && !s.Heard:
		why = deafText
	}
	if why == "" {
		var err error
		c := chat.Change{Call: s.Call, By: s.By, Args: args, Digest: s.Digest}
		if why, err = put(ctx, s.Thread, c, s.ID+":"+chat.Sum(args)[:DigestDigits]); err != nil {
			return Answer{}, fmt.Errorf("put the arguments of a form: %w", err)
		}
	}
	if why == "" {
		return Answer{}, nil
	}
	return Answer{Alone: not + chat.Exact(chat.Flat(why)) + ".", Wrong: &form.Wrong{ID: form.Blame(ids, why), Why: why}}, nil
}
