package web

import (
	"context"
	"fmt"
	"net/http"

	"nod/chat"
	"nod/chat/form"
)

// A call that waits for approval can be changed in a form on its card. What is wrong
// with what is sent is said beside it, and the form stays as it was filled in.

// wide is what a form has room for.
var wide = form.Bounds{Fields: 40, ID: 255, Label: 100, Text: mostText, Options: 200, Option: 200}

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

func fieldsOf(p *chat.Approval) []field { return formFields(p.Parameters, p.Args) }

func formFields(parameters, arguments string) []field {
	var out []field
	for _, f := range form.Of(parameters, arguments, wide) {
		looks := map[form.Kind]string{form.Area: areaField, form.Box: boxField, form.Menu: menuField, form.Line: lineField}
		out = append(out, field{f, looks[f.Kind]})
	}
	return out
}

// changed takes in what somebody makes of a call.
func (a *Adapter) changed(r *http.Request, v view, id string) (view, error) {
	it, err := a.on(r)
	switch {
	case err != nil:
		return v, err
	case it.post == nil || it.post.Approval == nil:
		return v, wrong{http.StatusConflict, "There is no call to be changed here."}
	}
	c := chat.Change{Call: it.post.Approval.Call, By: v.Me, Digest: r.PostForm.Get("digest")}
	return v, send(r, it.thread, c, a.o.Inbox.Change, "I did not change it: ", eventID("change", id))
}

// send puts the arguments that somebody filled a form in with; not begins what is said
// where they are refused.
func send(r *http.Request, thread chat.ThreadID, c chat.Change, put form.Put, not, event string) error {
	var filled []form.Filled
	for _, name := range r.PostForm["field"] {
		filled = append(filled, form.Filled{ID: name, Value: r.PostForm.Get(name)})
	}
	args, bad := form.Read(filled)
	if bad != nil {
		return wrong{http.StatusUnprocessableEntity, not + name(bad.ID) + bad.Why + "."}
	}
	c.Args = args
	refused, err := put(r.Context(), thread, c, event)
	switch {
	case err != nil:
		return fmt.Errorf("put the arguments of a form: %w", err)
	case refused != "":
		return wrong{http.StatusUnprocessableEntity, not + exact(refused) + "."}
	}
	return nil
}

// name is the name of a field before what is said of it.
func name(id string) string {
	if len(id) < 2 {
		return ""
	}
	return exact(id[1:]) + ": "
}

// complete adds to an approval that waits, and that is known from the past alone,
// what people may do about it.
func (a *Adapter) complete(ctx context.Context, thread chat.ThreadID, p *chat.Post) *chat.Post {
	if thread.Platform != Platform || p == nil || p.Approval == nil || p.Approval.Outcome != "" {
		return p
	}
	card, ok, err := a.o.Inbox.Card(ctx, thread, p.Approval.Call)
	if err != nil || !ok {
		return p // it can still be decided
	}
	whole := *p
	whole.Approval = &card
	return &whole
}
