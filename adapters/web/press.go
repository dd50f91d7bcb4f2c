package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"nod/adapters/web/door"
	"nod/chat"
	"nod/chat/form"
	"nod/front"
)

// This file takes in the page's buttons and forms. A form stands on the page for one person,
// below its message, until it is sent.

// wide is what a form has room for.
var wide = form.Bounds{Fields: 40, ID: 255, Label: 100, Text: mostText, Options: 200, Option: 200, Title: 100}

// The kinds of fields, as the template knows them.
const (
	areaField = "area"
	boxField  = "box"
	menuField = "menu"
	lineField = "line"
)

// field is a field of a form as the template draws it.
type field struct {
	form.Field
	Looks string
}

func fieldsOf(all []form.Field) []field {
	var out []field
	for _, f := range all {
		looks := map[form.Kind]string{form.Area: areaField, form.Box: boxField, form.Menu: menuField, form.Line: lineField}
		out = append(out, field{f, looks[f.Kind]})
	}
	return out
}

// presses are the buttons of cards and answers.
var presses = []front.Verb{front.Approve, front.Deny, front.Grant, front.Code, front.GrantBy, front.TryAgain, front.Stop}

// clickOn is a click on what stands on an item.
func clickOn(r *http.Request, it item, v view, verb front.Verb, id string) front.Click {
	c := front.Click{
		Verb: verb, ID: eventID(string(verb), id), Thread: it.asksIn(), On: it.ref, By: v.Me, Heard: true,
		Call: r.PostForm.Get("call"), Digest: r.PostForm.Get("digest"),
	}
	if it.post == nil || it.post.Approval == nil {
		return c
	}
	p := it.post.Approval
	c.Call = p.Call
	emoji := map[front.Verb][]string{front.Approve: p.Approve, front.Grant: p.Approve, front.Code: p.Approve, front.GrantBy: p.Approve, front.Deny: p.Deny}[verb]
	if len(emoji) > 0 {
		c.Emoji = chat.NormalEmoji(emoji[0])
	}
	return c
}

// told is the page's answer to a form.
func told(ans front.Answer) error {
	switch {
	case ans.Alone == "" || ans.Alone == front.Noted:
		return nil
	case ans.Wrong != nil:
		return wrong{http.StatusUnprocessableEntity, door.Clean(ans.Alone)}
	}
	return wrong{http.StatusConflict, door.Clean(ans.Alone)}
}

// press takes in a click on a button.
func (a *Adapter) press(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	if err != nil {
		return v, err
	}
	c := clickOn(r, it, v, front.Verb(r.PostForm.Get("what")), id)
	votes := c.Verb != front.TryAgain && c.Verb != front.Stop
	switch {
	case !slices.Contains(presses, c.Verb) || votes && c.Emoji == "":
		return v, wrong{http.StatusBadRequest, "There is no such button."}
	case outdated(r, it, chat.Reaction{Emoji: c.Emoji}):
		return v, errOutdated
	}
	ans, err := a.Click(r.Context(), c)
	switch {
	case err != nil:
		return v, err
	case ans.Form != nil:
		a.board.change(it.ref, func(it *item) bool { it.open(v.Me.ID, ans.Form); return true })
	case votes && !c.Verb.Codes() && it.waiting(): // a vote is seen as the emoji that it stands for, and is taken back by that
		a.board.change(it.ref, func(it *item) bool { return it.react(c.Emoji, v.Me.ID, false) })
	case c.Verb == front.Stop: // which is seen
		return v, nil
	}
	return v, told(ans)
}

// openForm shows the form that asks why somebody denied a call.
func (a *Adapter) openForm(_ context.Context, f front.Form) error {
	a.board.change(f.On, func(it *item) bool { it.why = f.By.ID; return true })
	return nil
}

// why takes in why somebody denied a call; an empty text says that they don't say.
func (a *Adapter) why(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	switch {
	case err != nil:
		return v, err
	case it.why != v.Me.ID || it.post == nil || it.post.Approval == nil:
		return v, wrong{http.StatusConflict, "Nobody asked for a reason here."}
	}
	return v, a.send(r, it, clickOn(r, it, v, front.Deny, id), func(it *item) { it.why = "" })
}

// whatWrong takes in what was wrong with an answer, from somebody who was asked; an empty
// text says that they don't say.
func (a *Adapter) whatWrong(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	switch {
	case err != nil:
		return v, err
	case !slices.Contains(it.wrong, v.Me.ID):
		return v, wrong{http.StatusConflict, "Nobody asked you that here."}
	}
	return v, a.send(r, it, clickOn(r, it, v, front.Bad, id), func(it *item) {
		it.wrong = slices.DeleteFunc(it.wrong, func(u chat.UserID) bool { return u == v.Me.ID })
	})
}

// changed takes in what somebody makes of a call that waits.
func (a *Adapter) changed(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	switch {
	case err != nil:
		return v, err
	case it.post == nil || it.post.Approval == nil:
		return v, wrong{http.StatusConflict, "There is no call to be changed here."}
	}
	return v, a.send(r, it, clickOn(r, it, v, front.Edit, id), func(*item) {})
}

// editAgain opens the form of a call of a turn that is over.
func (a *Adapter) editAgain(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	switch {
	case err != nil:
		return v, err
	case it.post == nil || it.post.Steps == nil:
		return v, wrong{http.StatusConflict, "There is no call to be run again here."}
	}
	ans, err := a.Click(r.Context(), clickOn(r, it, v, front.Rerun, id))
	if err != nil || ans.Form == nil {
		return v, cmp.Or(err, told(ans))
	}
	a.board.change(it.ref, func(it *item) bool {
		it.open(v.Me.ID, ans.Form)
		return true
	})
	return v, nil
}

// ranAgain takes in what somebody sends with that form, or with the form of a code.
func (a *Adapter) ranAgain(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	if err != nil {
		return v, err
	}
	c := clickOn(r, it, v, front.Rerun, id)
	if f := it.again[v.Me.ID]; f != nil && f.Verb.Codes() { // it is for the card as it was then
		c.Verb, c.Digest = f.Verb, f.Digest
	}
	return v, a.send(r, it, c, func(it *item) { it.open(v.Me.ID, nil) })
}

// send takes in a form, and closes it where nothing is wrong with it.
func (a *Adapter) send(r *http.Request, it item, c front.Click, closes func(it *item)) error {
	s := front.Sent{Click: c, Text: strings.TrimSpace(door.Clean(r.PostForm.Get("reason")))}
	s.ID = eventID("form", c.ID)
	for _, name := range r.PostForm["field"] {
		s.Fields = append(s.Fields, form.Filled{ID: name, Value: r.PostForm.Get(name)})
	}
	ans, err := a.Sent(r.Context(), s)
	if err == nil {
		err = told(ans)
	}
	if err == nil {
		a.board.change(it.ref, func(it *item) bool { closes(it); return true })
	}
	return err
}
