package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	forms "nod/chat/form"
	"nod/front"
)

// reasonField is the field of a form that asks in words.
const reasonField = "reason"

// callbacks are the names of forms.
var callbacks = map[front.Verb]string{
	front.Deny: "nod_reason", front.Edit: "nod_edit_form", front.Rerun: "nod_again_form", front.Bad: "nod_opinion_form",
	front.Code: "nod_code_form", front.GrantBy: "nod_code_grant_form",
}

// formVerb is what a form is for; "" where it is none.
func formVerb(callback string) front.Verb {
	for verb, name := range callbacks {
		if name == callback {
			return verb
		}
	}
	return ""
}

// kept is what a form is about: Slack gives it back with what is sent.
type kept struct {
	Thread  string `json:"thread,omitempty"`
	Call    string `json:"call,omitempty"`
	Digest  string `json:"digest,omitempty"`
	Channel string `json:"channel,omitempty"`
	Answer  string `json:"answer,omitempty"`
}

func formView(f front.Form) (slackgo.ModalViewRequest, error) {
	k := kept{Thread: f.Thread.String(), Call: f.Call, Digest: f.Digest}
	if f.Verb == front.Bad {
		k = kept{Channel: api.ChannelOf(f.On.Channel), Answer: f.On.ID}
	}
	private, err := json.Marshal(k)
	var blocks []slackgo.Block
	if f.Note != "" {
		blocks = append(blocks, slackgo.NewContextBlock("", slackgo.NewTextBlockObject(slackgo.PlainTextType, f.Note, false, false)))
	}
	for _, field := range f.Fields {
		input := slackgo.NewInputBlock(field.ID, layout.PlainText(field.Label), nil, editElement(field)).WithOptional(!field.Required)
		if field.About != "" {
			input.Hint = layout.PlainText(layout.Shorten(field.About, 300))
		}
		blocks = append(blocks, input)
	}
	if len(f.Fields) == 0 {
		text := slackgo.NewPlainTextInputBlockElement(layout.PlainText(f.Hint), reasonField)
		text.Multiline, text.MaxLength = true, f.Most
		blocks = append(blocks, slackgo.NewInputBlock(reasonField, layout.PlainText("Reason"), nil, text).WithOptional(true))
	}
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: callbacks[f.Verb], PrivateMetadata: string(private), NotifyOnClose: f.Closes,
		Title: layout.PlainText(f.Title), Submit: layout.PlainText("Send"), Close: layout.PlainText("Close"), Blocks: slackgo.Blocks{BlockSet: blocks},
	}, err
}

func editElement(f forms.Field) slackgo.BlockElement {
	switch f.Kind {
	case forms.Menu:
		var options []*slackgo.OptionBlockObject
		var first *slackgo.OptionBlockObject
		for _, o := range f.Options {
			options = append(options, slackgo.NewOptionBlockObject(o.Value, layout.PlainText(o.Label), nil))
			if o.Value == f.Value {
				first = options[len(options)-1]
			}
		}
		menu := slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, nil, f.ID, options...)
		menu.InitialOption = first
		return menu
	case forms.Box:
		yes := slackgo.NewOptionBlockObject(forms.Ticked, layout.PlainText("Yes"), nil)
		box := slackgo.NewCheckboxGroupsBlockElement(f.ID, yes)
		if f.Value == forms.Ticked {
			box.InitialOptions = []*slackgo.OptionBlockObject{yes}
		}
		return box
	case forms.Line, forms.Area:
	}
	text := slackgo.NewPlainTextInputBlockElement(nil, f.ID)
	text.Multiline, text.InitialValue = f.Kind == forms.Area, f.Value
	return text
}

// formErrors is what is wrong with what somebody filled in, by block: it is shown in
// the form, which stays open.
type formErrors map[string]string

func (e formErrors) Error() string {
	return fmt.Sprint("what was filled in is refused: ", len(e), " fields")
}

// filled takes in a form. The error may be what is wrong with it.
func (a *Adapter) filled(ctx context.Context, in api.Interaction) error {
	var k kept
	if err := json.Unmarshal([]byte(in.View.Private), &k); err != nil {
		return api.Malformed("form", err)
	}
	s := front.Sent{Closed: in.Type == "view_closed", Text: in.View.State.Values[reasonField][reasonField].Value}
	s.Verb, s.ID, s.Call, s.Digest = formVerb(in.View.Callback), "slack:form:"+in.View.ID, k.Call, k.Digest
	s.On = api.RefOf(a.who().TeamID, k.Channel, k.Answer)
	if s.Verb != front.Bad {
		thread, err := chat.ParseThreadID(k.Thread)
		if err != nil {
			return api.Malformed("form of another thread", err)
		}
		s.Thread, k.Channel = thread, api.ChannelOf(thread.Channel)
	}
	if s.Verb.Opens() { // and holds fields
		if s.Fields = in.Filled(); len(s.Fields) == 0 {
			return api.Malformed("form without fields", nil)
		}
	}
	var err error
	if s.By, s.Heard, err = a.speaker(ctx, in.User.ID, k.Channel); err != nil {
		return err
	}
	ans, err := a.Sent(ctx, s)
	if err == nil && ans.Wrong != nil {
		return formErrors{ans.Wrong.ID: sentence(ans.Wrong.Why)}
	}
	return err
}

// sentence writes what is wrong as people read it.
func sentence(why string) string {
	why = layout.Shorten(chat.Exact(chat.Flat(strings.TrimSuffix(why, "."))), 400)
	first, n := utf8.DecodeRuneInString(why)
	return string(unicode.ToUpper(first)) + why[n:] + "."
}
