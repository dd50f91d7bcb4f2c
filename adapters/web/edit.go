package web

import (
	"context"

	"nod/chat"
	"nod/chat/form"
)

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
