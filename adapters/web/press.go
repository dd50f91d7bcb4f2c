package web

import (
	"cmp"
	"context"
	"maps"
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

// looks are the kinds of fields, as the template knows them.
var looks = map[form.Kind]string{form.Area: "area", form.Box: "box", form.Menu: "menu"}

// presses are the buttons of cards and answers.
var presses = []front.Verb{front.Approve, front.Deny, front.Grant, front.Code, front.GrantBy, front.TryAgain, front.Stop}

// clickOn is a click on what stands on an item.
func clickOn(r *http.Request, it item, v view, verb front.Verb, id string) front.Click {
	c := front.Click{
		Verb: verb, ID: eventID(string(verb), id), Thread: it.asksIn(), On: it.ref, By: v.Me, Heard: true,
		Call: r.PostForm.Get("call"), Digest: r.PostForm.Get("digest"),
	}
	p := it.card()
	if p == nil {
		return c
	}
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
func (a *Adapter) press(r *http.Request, v view, it item, id string) error {
	c := clickOn(r, it, v, front.Verb(r.PostForm.Get("what")), id)
	votes := c.Verb != front.TryAgain && c.Verb != front.Stop
	switch {
	case !slices.Contains(presses, c.Verb) || votes && c.Emoji == "":
		return wrong{http.StatusBadRequest, "There is no such button."}
	case outdated(r, it, chat.Reaction{Emoji: c.Emoji}):
		return errOutdated
	}
	ans, err := a.Click(r.Context(), c)
	switch {
	case err != nil:
		return err
	case ans.Form != nil:
		a.board.change(it.ref, func(it *item) bool { it.open(v.Me.ID, ans.Form); return true })
	case votes && !c.Verb.Codes() && it.waiting(): // a vote is seen as the emoji that it stands for, and is taken back by that
		a.board.change(it.ref, func(it *item) bool { return it.react(c.Emoji, v.Me.ID, false) })
	case c.Verb == front.Stop: // which is seen
		return nil
	}
	return told(ans)
}

// openForm shows the form that asks why somebody denied a call.
func (a *Adapter) openForm(_ context.Context, f front.Form) error {
	a.board.change(f.On, func(it *item) bool { it.why = f.By.ID; return true })
	return nil
}

// open sets, for one person, which form stands below an item; nil: none.
func (it *item) open(who chat.UserID, f *front.Form) {
	now := maps.Clone(it.again)
	if now == nil {
		now = map[chat.UserID]*front.Form{}
	}
	now[who] = f
	it.again = now
}

// editAgain opens the form of a call of a turn that is over, for whoever clicked alone.
// Sending it runs the call again, as theirs; whether it can be is found out by the click.
func (a *Adapter) editAgain(r *http.Request, v view, it item, id string) error {
	if it.post == nil || it.post.Steps == nil {
		return wrong{http.StatusConflict, "There is no call to be run again here."}
	}
	ans, err := a.Click(r.Context(), clickOn(r, it, v, front.Rerun, id))
	if err != nil || ans.Form == nil {
		return cmp.Or(err, told(ans))
	}
	a.board.change(it.ref, func(it *item) bool { it.open(v.Me.ID, ans.Form); return true })
	return nil
}

// sheet is a form below a message.
type sheet struct {
	verb   front.Verb
	stands func(it item, who chat.UserID) bool // whether it stands there for somebody
	absent string                              // what is said where it does not
	closes func(it *item, who chat.UserID)     // takes it away once it is sent
}

// sheets are the forms by their paths. An empty text says that somebody does not say.
var sheets = map[string]sheet{
	"/why": {
		front.Deny, func(it item, who chat.UserID) bool { return it.why == who && it.card() != nil },
		"Nobody asked for a reason here.", func(it *item, _ chat.UserID) { it.why = "" },
	},
	"/wrong": {
		front.Bad, func(it item, who chat.UserID) bool { return slices.Contains(it.wrong, who) },
		"Nobody asked you that here.", func(it *item, who chat.UserID) {
			it.wrong = slices.DeleteFunc(it.wrong, func(u chat.UserID) bool { return u == who })
		},
	},
	"/change": {
		front.Edit, func(it item, _ chat.UserID) bool { return it.card() != nil },
		"There is no call to be changed here.", func(*item, chat.UserID) {},
	},
	"/rerun": {
		front.Rerun, func(item, chat.UserID) bool { return true }, "", func(it *item, who chat.UserID) { it.open(who, nil) },
	},
}

// sent takes in a form, and closes it where nothing is wrong with it.
func (a *Adapter) sent(sh sheet) taker {
	return about(a.on, func(r *http.Request, v view, it item, id string) error {
		if !sh.stands(it, v.Me.ID) {
			return wrong{http.StatusConflict, sh.absent}
		}
		s := front.Sent{Click: clickOn(r, it, v, sh.verb, id), Text: strings.TrimSpace(door.Clean(r.PostForm.Get("reason")))}
		s.ID = eventID("form", s.ID)
		if f := it.again[v.Me.ID]; sh.verb == front.Rerun && f != nil && f.Verb.Codes() { // it is for the card as it was then
			s.Verb, s.Digest = f.Verb, f.Digest
		}
		for _, name := range r.PostForm["field"] {
			s.Fields = append(s.Fields, form.Filled{ID: name, Value: r.PostForm.Get(name)})
		}
		ans, err := a.Sent(r.Context(), s)
		if err == nil {
			err = told(ans)
		}
		if err == nil {
			a.board.change(it.ref, func(it *item) bool { sh.closes(it, v.Me.ID); return true })
		}
		return err
	})
}
