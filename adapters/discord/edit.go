package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"nod/chat"
	forms "nod/chat/form"
	"nod/chat/markdown"
	"nod/chat/summary"
	"nod/front"
)

// The button Edit opens a form with the arguments of a call that waits for approval.
// A form has to be the first answer to a click, within 3 s, so it is made of what the
// card showed, which the process that drew the card remembers; another one asks the
// store. Discord closes a form that is sent: what is wrong with it is said to whoever
// sent it, alone, together with what they had filled in.

const (
	grantButton = "grant"
	editButton  = "edit"
	editForm    = "edited"
)

// tight is what a form has room for: five fields, and little text beside each
// (https://discord.com/developers/docs/components/reference).
var tight = forms.Bounds{Fields: 5, ID: 100, Label: 45, Text: 4000, Options: 25, Option: 100}

// editable is what the button, and the form behind it, are about: the call, and how
// the digest of the arguments begins that are shown.
type editable struct {
	kind   string
	place  place
	call   string
	digest string
}

// id writes the id of the button, or of the form; "" when it would be too long.
func (e editable) id() string {
	return customID(e.kind, e.place.String(), e.call, e.digest)
}

func readEditable(id string) (editable, bool) {
	parts, ok := readID(id, 4, editButton, editForm)
	if !ok {
		return editable{}, false
	}
	return editable{parts[0], readPlace(parts[1]), parts[2], parts[3]}, true
}

func editableOf(kind string, p place, a *chat.Approval) editable {
	return editable{kind, p, a.Call, a.Digest[:min(len(a.Digest), 12)]}
}

// edit opens the form. Whoever clicked a card that was changed since gets the newest.
func (a *Adapter) edit(ctx context.Context, in interaction, e editable) error {
	if !in.in(e.place) {
		return errForeign
	}
	p, ok, err := a.Cards.Card(ctx, a.o.Inbox.Card, threadID(e.place), e.call, e.digest)
	switch {
	case err != nil:
		return a.sorry(ctx, in, err)
	case !ok:
		return a.respond(ctx, in, answerMessage, newPage("This approval is over."))
	}
	e = editableOf(editForm, e.place, &p)
	word := fmt.Sprintf("In a message, `edit %d {…}` does the same.", p.Number)
	return a.openForm(ctx, in, e.id(), forms.Title(&p, 45), forms.Of(p.Parameters, p.Args, tight), p.Args, word)
}

// openForm answers a click with a form; word says what does the same where it does not
// open.
func (a *Adapter) openForm(ctx context.Context, in interaction, id, title string, fields []forms.Field, args, word string) error {
	_, err := a.reply(ctx, in, answerForm, modal(id, title, fields))
	if code(err) == codeBadForm { // it may know no boxes yet
		_, err = a.reply(ctx, in, answerForm, modal(id, title, forms.Of("", args, tight)))
	}
	if takesMore(err) {
		return a.respond(ctx, in, answerMessage, newPage("The form did not open. "+word))
	}
	return err
}

// otherwise is how a message shows a post that can't be shown as it was to be: one
// that was made without a card never gets one, and a card stays one, whatever people
// made of the arguments.
func otherwise(was part, m front.Message) (part, bool) {
	switch {
	case was.plain != nil:
		return was.withoutCard(), true
	case m.Approval == nil || len(was.card) > 0:
		return part{}, false
	}
	long := m.Approval
	note := fmt.Sprintf("That is only the beginning. The arguments are %s long, sha256 `%s`.", summary.Count(markdown.UTF16(long.Args), "character"), chat.Sum(chat.Exact(long.Args)))
	out := part{line: was.line, accent: waitingColour, buttons: was.buttons, pings: was.pings}
	for _, text := range []string{headline(m.Card), subline(long, m.Card), fence("json", shorten(exact(long.Args), mostOnCard-400)), note, belowArgs(long, m.Card)} {
		if text != "" {
			out.card = append(out.card, text)
		}
	}
	return out, true
}

// redrawn is how a message is drawn that is drawn already, as far as this process
// knows how.
func redrawn(m front.Message, now part) part {
	if m.Was != nil && len(now.card) == 0 && tooLong(m.Was.Args) == "" {
		now, _ = otherwise(now, m)
	}
	return now
}

// tooLong says of arguments that the card could not show all of them: whoever
// approves has to see what runs.
func tooLong(args string) string {
	if markdown.UTF16(exact(args)) <= mostOnCard {
		return ""
	}
	return fmt.Sprintf("these arguments are longer than a card can show (%d characters); in a message, the word `edit` takes them", mostOnCard)
}

// modal writes a form
// (https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal).
func modal(id, title string, fields []forms.Field) map[string]any {
	var rows []any
	for _, f := range fields {
		row := map[string]any{"type": 18, "label": f.Label, "component": editField(f)}
		if f.About != "" {
			row["description"] = shorten(f.About, 100)
		}
		rows = append(rows, row)
	}
	return map[string]any{"custom_id": id, "title": title, "components": rows}
}

func editField(f forms.Field) map[string]any {
	out := map[string]any{"custom_id": f.ID}
	switch f.Kind {
	case forms.Menu:
		var options []any
		for _, o := range f.Options {
			option := map[string]any{"label": o.Label, "value": o.Value}
			if o.Value == f.Value {
				option["default"] = true
			}
			options = append(options, option)
		}
		out["type"], out["options"], out["required"] = 3, options, f.Required
	case forms.Box:
		out["type"], out["default"] = 23, f.Value == forms.Ticked
	case forms.Line, forms.Area:
		out["type"], out["style"], out["required"] = 4, 1, f.Required
		if f.Kind == forms.Area {
			out["style"] = 2
		}
		if f.Value != "" {
			out["value"] = f.Value
		}
	}
	return out
}

// changed takes in what somebody makes of a call.
func (a *Adapter) changed(ctx context.Context, in interaction, e editable) error {
	if !in.in(e.place) {
		return errForeign
	}
	if in.Message != nil { // what is found wrong later is told by this, too
		by := chat.User{ID: chat.UserID(in.User.ID)}
		defer a.asides.clicked(chat.Reaction{On: refOf(e.place, in.Message.ID), By: by}, in, a.o.Now())()
	}
	return a.sent(ctx, in, e.place, chat.Change{Call: e.call, Digest: e.digest}, a.o.Inbox.Change, "I did not change it")
}

// sent puts the arguments that somebody filled a form in with. To run a call they have to
// be heard; whether they may change one is judged later.
func (a *Adapter) sent(ctx context.Context, in interaction, p place, c chat.Change, put forms.Put, not string) error {
	filled, err := fieldsOf(in.Data.Components)
	if err != nil {
		return err
	}
	args, why := readArgs(filled)
	c.Args, c.By = args, userOf(*in.User, in.Member)
	if why == "" {
		if c.By.Barred, err = a.barred(ctx, in.speaker()); err != nil {
			return a.sorry(ctx, in, err)
		}
		if c.By.Barred != "" && c.Digest == "" {
			why = "only those whom I listen to here can run something"
		}
	}
	if why == "" {
		if err := a.putSoon(ctx, func(ctx context.Context) (err error) {
			why, err = put(ctx, threadID(p), c, interactionKey(in.ID))
			return err
		}); err != nil {
			return a.sorry(ctx, in, err)
		}
	}
	if why != "" {
		return a.refuseForm(ctx, in, not, why, filled)
	}
	return a.respond(ctx, in, promiseToChange, nil)
}

// readArgs reads the arguments that a form was filled in with, and says what is wrong
// with them.
func readArgs(filled []forms.Filled) (args, why string) {
	args, wrong := forms.Read(filled)
	switch {
	case wrong == nil:
		return args, tooLong(args)
	case len(wrong.ID) > 1:
		return "", wrong.ID[1:] + ": " + wrong.Why
	}
	return "", wrong.Why
}

// refuseForm says why, and what was filled in: the form is closed.
func (a *Adapter) refuseForm(ctx context.Context, in interaction, what, why string, filled []forms.Filled) error {
	var lines []string
	for _, f := range filled {
		name := "Arguments"
		if len(f.ID) > 1 {
			name = f.ID[1:]
		}
		lines = append(lines, name+": "+f.Value)
	}
	text := what + ": " + shorten(escape(chat.Exact(chat.Flat(why))), 500) + ".\n\nYou had written:\n" +
		fence("", shorten(exact(strings.Join(lines, "\n")), 1000))
	return a.respond(ctx, in, answerMessage, newPage(text))
}

// fieldsOf lists what the fields of a form were filled in with. A box says true or
// false, a menu what was chosen.
func fieldsOf(raw json.RawMessage) ([]forms.Filled, error) {
	var rows []struct {
		Component struct {
			ID     string   `json:"custom_id"`
			Value  any      `json:"value"`
			Values []string `json:"values"`
		} `json:"component"`
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, fmt.Errorf("%w: form: %w", errMalformed, err)
	}
	var out []forms.Filled
	for _, r := range rows {
		f := forms.Filled{ID: r.Component.ID}
		switch v := r.Component.Value.(type) {
		case string:
			f.Value = v
		case bool:
			if v {
				f.Value = forms.Ticked
			}
		}
		for _, v := range r.Component.Values {
			f.Value = v
		}
		out = append(out, f)
	}
	return out, nil
}
