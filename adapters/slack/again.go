package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	forms "nod/chat/form"
	"nod/chat/markdown"
	"nod/chat/outbox"
)

// In the window with the steps each call of a turn that can be gone on with has a button,
// which puts a form with its arguments in the window's place: sending it runs the call
// again, as one of whoever sends it. The window is made by the bot for one person, so
// what its buttons hold is what the bot wrote.

// The button and its form.
const (
	againID   = "nod_again"
	againForm = "nod_again_form"
)

// againNote is what the form says before everything else.
const againNote = "What you send runs as a call of yours, after an approval where one is needed, and the question is answered anew from there. What ran before stays done."

// againButton is the button of a call; nil where there is none.
func againButton(thread string, c chat.ToolCall) slackgo.Block {
	value := thread + " " + url.PathEscape(c.ID)
	if !c.Again || thread == "" || markdown.UTF16(value) > mostValue {
		return nil
	}
	return slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(againID, value, plainText(forms.AgainLabel)))
}

// editAgain puts the form in the place of the steps.
func (a *Adapter) editAgain(ctx context.Context, in interaction, value string) error {
	name, escaped, _ := strings.Cut(value, " ")
	thread, err := chat.ParseThreadID(name)
	call, bad := url.PathUnescape(escaped)
	if err != nil || bad != nil || in.View.Callback != stepsView {
		return malformed("button of a call", err)
	}
	v, why, err := a.o.Inbox.Again(ctx, thread, call)
	if err != nil {
		why = "my memory does not answer; try again in a moment"
	}
	fields := forms.Of(v.Parameters, v.Args, roomy)
	if why == "" && len(fields) == 0 {
		why = forms.TooLong(v)
	}
	if why != "" {
		text := "It can't be run again: " + escape(why) + "."
		return errors.Join(err, a.window(ctx, "views.update", url.Values{"view_id": {in.View.ID}}, "", [][]slackgo.Block{{section(text)}}, 0))
	}
	view, err := againWindow(about{name, call}, v, fields)
	if err != nil {
		return err
	}
	args := url.Values{"view_id": {in.View.ID}, "view": {string(view)}}
	return a.web.call(ctx, request{method: "views.update", args: args, priority: outbox.Approval})
}

// againWindow writes the form.
func againWindow(of any, v chat.Again, fields []forms.Field) (json.RawMessage, error) {
	return formWindow(againForm, of, forms.AgainTitle(v.Tool, 24), againNote, fields)
}

// ranAgain takes in what somebody sends with the form.
func (a *Adapter) ranAgain(ctx context.Context, in interaction) error {
	var of about
	if err := json.Unmarshal([]byte(in.View.Private), &of); err != nil {
		return malformed("form", err)
	}
	thread, err := chat.ParseThreadID(of.Thread)
	if err != nil {
		return malformed("form of another thread", err)
	}
	return a.sent(ctx, in, thread, chat.Change{Call: of.Call}, a.o.Inbox.RunAgain, "slack:again:")
}
