package web

import (
	"fmt"
	"net/http"

	"nod/chat"
	"nod/chat/form"
)

// In the opened steps of a turn that is over each call has a button: it puts a form with
// the call's arguments below the steps, for whoever clicked alone. Sending it runs the
// call again, as theirs. Whether it can be is found out by the click.

// rerunButton is the button of a call.
type rerunButton struct{ Call, Label string }

// rerunForm is the form as the template draws it.
type rerunForm struct {
	Call, Tool string
	Fields     []field
}

// rerunButtons are those of a turn's calls.
func rerunButtons(s *chat.Steps) []rerunButton {
	var out []rerunButton
	if !s.Done {
		return nil
	}
	for _, item := range s.Items {
		for _, c := range item.Calls {
			out = append(out, rerunButton{c.ID, fmt.Sprintf("%s: %d %s", form.AgainLabel, len(out)+1, exact(c.Tool))})
		}
	}
	if len(out) == 1 {
		out[0].Label = form.AgainLabel
	}
	return out
}

// rerunFormOf is the form that somebody has open below the steps; nil where they have
// none.
func rerunFormOf(it item, who chat.UserID) *rerunForm {
	v, ok := it.again[who]
	if !ok {
		return nil
	}
	return &rerunForm{v.Call, exact(v.Tool), formFields(v.Parameters, v.Args)}
}

// open sets, for one person, which form stands below an item; none where v is nil.
func (it *item) open(who chat.UserID, v *chat.Again) {
	now := map[chat.UserID]chat.Again{}
	for k, other := range it.again {
		now[k] = other
	}
	delete(now, who)
	if v != nil {
		now[who] = *v
	}
	it.again = now
}

// editAgain opens the form.
func (a *Adapter) editAgain(r *http.Request, v view, _ string) (view, error) {
	it, err := a.on(r)
	switch {
	case err != nil:
		return v, err
	case it.post == nil || it.post.Steps == nil:
		return v, wrong{http.StatusConflict, "There is no call to be run again here."}
	}
	call, why, err := a.o.Inbox.Again(r.Context(), it.thread, r.PostForm.Get("call"))
	switch {
	case err != nil:
		return v, fmt.Errorf("look at a call: %w", err)
	case why == "" && len(form.Of(call.Parameters, call.Args, wide)) == 0:
		why = form.TooLong(call)
	}
	if why != "" {
		return v, wrong{http.StatusConflict, "It can't be run again: " + exact(why) + "."}
	}
	a.board.change(it.ref, func(it *item) bool {
		it.open(v.Me.ID, &call)
		return true
	})
	return v, nil
}

// ranAgain takes in what somebody sends with the form.
func (a *Adapter) ranAgain(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	if err != nil {
		return v, err
	}
	c := chat.Change{Call: r.PostForm.Get("call"), By: v.Me}
	if err := send(r, it.thread, c, a.o.Inbox.RunAgain, "I did not run it: ", eventID("again", id)); err != nil {
		return v, err
	}
	a.board.change(it.ref, func(it *item) bool {
		it.open(v.Me.ID, nil)
		return true
	})
	return v, nil
}
