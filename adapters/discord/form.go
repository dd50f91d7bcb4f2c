package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/dialect"
	"nod/adapters/discord/layout"
	forms "nod/chat/form"
	"nod/front"
)

// A form has to be the first answer to a click, within 3 s. Discord closes a form that is
// sent: what is wrong with it is said to the person who sent it, alone, together with what
// they had filled in.

// tight is what a form has room for: five fields, and little text beside each
// (https://discord.com/developers/docs/components/reference).
var tight = forms.Bounds{Fields: 5, ID: 100, Label: 45, Text: 4000, Options: 25, Option: 100, Title: 45, Card: layout.MostOnCard}

func (a *Adapter) answer(ctx context.Context, in api.Interaction, ans front.Answer, filled []forms.Filled) error {
	if ans.Form != nil {
		return a.openForm(ctx, in, *ans.Form)
	}
	if ans.Alone == "" {
		return a.respond(ctx, in, promiseToChange, nil)
	}
	p := newPage(alone(ans.Alone))
	if ans.Wrong != nil && len(filled) > 0 {
		p.Content += hadWritten(filled)
	}
	if ans.Button != nil {
		tell := discordgo.Button{Label: front.TellText, Style: discordgo.SecondaryButton, CustomID: idOf(tellButton, *ans.Button)}
		p.Components = append(p.Components, discordgo.ActionsRow{Components: []discordgo.MessageComponent{tell}})
	}
	return a.respond(ctx, in, answerMessage, p)
}

// alone writes a text for one person, whose only markup is `code`.
func alone(text string) string {
	return strings.ReplaceAll(dialect.Shorten(inPeople(dialect.Escape(text)), 600), "ˋ", "`")
}

// hadWritten quotes a form as the person filled it in.
func hadWritten(filled []forms.Filled) string {
	var lines []string
	for _, f := range filled {
		name := "Arguments"
		if len(f.ID) > 1 {
			name = f.ID[1:]
		}
		lines = append(lines, name+": "+f.Value)
	}
	return "\n\nYou had written:\n" + dialect.Fence("", dialect.Shorten(dialect.Exact(strings.Join(lines, "\n")), 1000))
}

func (a *Adapter) openForm(ctx context.Context, in api.Interaction, f front.Form) error {
	_, err := a.reply(ctx, in, answerForm, modal(f))
	if api.Code(err) == api.CodeBadForm && f.Args != "" { // it may know no boxes yet
		f.Fields = forms.Of("", f.Args, tight)
		_, err = a.reply(ctx, in, answerForm, modal(f))
	}
	if err == nil || api.Code(err) == api.CodeAnswered { // another process may have opened it
		return err
	}
	a.log.Warn("open a form", "error", err)
	ans, failed := a.Unopened(ctx, f)
	switch {
	case failed != nil:
		return failed
	case ans.Alone != "" && !takesMore(err):
		return err
	case ans.Alone != "":
		ans.Alone = notice(err).Content + ". " + ans.Alone
	}
	return a.answer(ctx, in, ans, nil)
}

// modal writes a form
// (https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal).
func modal(f front.Form) map[string]any {
	var rows []any
	if f.Verb.Codes() { // whose note says what the code is for
		rows = append(rows, map[string]any{"type": 10, "content": dialect.Fence("", dialect.Exact(f.Note))})
	}
	for _, field := range f.Fields {
		row := map[string]any{"type": 18, "label": field.Label, "component": editField(field)}
		if field.About != "" {
			row["description"] = dialect.Shorten(field.About, 100)
		}
		rows = append(rows, row)
	}
	if len(f.Fields) == 0 {
		field := map[string]any{"type": 4, "custom_id": "reason", "style": 2, "required": false, "max_length": f.Most, "placeholder": f.Hint}
		rows = append(rows, map[string]any{"type": 18, "label": "Reason", "component": field})
	}
	return map[string]any{"custom_id": idOf(kinds[f.Verb], f.Click), "title": f.Title, "components": rows}
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

// fieldOf is what the only field of a form was filled in with.
func fieldOf(raw json.RawMessage) string {
	fields, err := fieldsOf(raw)
	if err != nil || len(fields) == 0 {
		return ""
	}
	return fields[0].Value
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
		return nil, fmt.Errorf("%w: form: %w", api.ErrMalformed, err)
	}
	var out []forms.Filled
	for _, r := range rows {
		if r.Component.ID == "" { // a text
			continue
		}
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
