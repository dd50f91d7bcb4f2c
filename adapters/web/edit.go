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
	in, takes := a.o.Inbox.(form.Changes)
	switch {
	case err != nil:
		return v, err
	case !takes || it.post == nil || it.post.Approval == nil:
		return v, wrong{http.StatusConflict, "There is no call to be changed here."}
	}
	var filled []form.Filled
	for _, name := range r.PostForm["field"] {
		filled = append(filled, form.Filled{ID: name, Value: r.PostForm.Get(name)})
	}
	args, bad := form.Read(filled)
	if bad != nil {
		return v, wrong{http.StatusUnprocessableEntity, "I did not change it: " + name(bad.ID) + bad.Why + "."}
	}
	c := chat.Change{Call: it.post.Approval.Call, By: v.Me, Args: args, Digest: r.PostForm.Get("digest")}
	refused, err := in.Change(r.Context(), it.thread, c, eventID("change", id))
	switch {
	case err != nil:
		return v, fmt.Errorf("put a change: %w", err)
	case refused != "":
		return v, wrong{http.StatusUnprocessableEntity, "I did not change it: " + exact(refused) + "."}
	}
	return v, nil
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
	in, ok := a.o.Inbox.(form.Changes)
	if !ok || thread.Platform != Platform || p == nil || p.Approval == nil || p.Approval.Outcome != "" {
		return p
	}
	card, ok, err := in.Card(ctx, thread, p.Approval.Call)
	if err != nil || !ok {
		return p // it can still be decided
	}
	whole := *p
	whole.Approval = &card
	return &whole
}
