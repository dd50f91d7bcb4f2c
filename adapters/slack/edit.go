package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	forms "nod/chat/form"
	"nod/chat/outbox"
	"nod/front"
)

// The button Edit opens a form with the arguments of a call that waits for approval.
// It has to open within 3 s, so it is made of what the card showed, which the process
// that drew the card remembers; another one asks the store. What is sent says which
// card it was made of, and is refused in the form itself where that is plain.

// The button, the button that approves for a while, and the forms.
const (
	editID   = "nod_edit"
	grantID  = "nod_grant"
	editForm = "nod_edit_form"
)

// roomy is what a form has room for
// (https://docs.slack.dev/reference/block-kit/block-elements).
var roomy = forms.Bounds{Fields: 90, ID: 255, Label: 150, Text: 3000, Options: 100, Option: 75}

// editable names what a form is about: the call, and the arguments that it shows.
type editable struct {
	Thread chat.ThreadID `json:"thread"`
	Call   string        `json:"call"`
	Digest string        `json:"digest"`
	Number int           `json:"number"`
}

// value is what the button holds.
func (e editable) value() string {
	return strings.Join([]string{e.Thread.String(), url.PathEscape(e.Call), e.Digest}, " ")
}

func readEditable(value string) (e editable, ok bool) {
	parts := strings.Split(value, " ")
	if len(parts) != 3 {
		return e, false
	}
	thread, err := chat.ParseThreadID(parts[0])
	if err != nil {
		return e, false
	}
	call, err := url.PathUnescape(parts[1])
	return editable{Thread: thread, Call: call, Digest: parts[2]}, err == nil
}

// mostValue is how long the value of a button may be.
const mostValue = 2000

// edit opens the forms. What clicked cards showed before they were changed opens the
// newest.
func (a *Adapter) edit(ctx context.Context, in interaction, value string) error {
	e, ok := readEditable(value)
	if !ok {
		return malformed("button of a form", nil)
	}
	p, ok, err := a.Cards.Card(ctx, a.o.Inbox.Card, e.Thread, e.Call, e.Digest)
	switch {
	case err != nil:
		_ = a.confide(ctx, in, "The form can't be opened: my memory does not answer. Try again in a moment.")
		return err
	case !ok:
		return a.confide(ctx, in, "This approval is over.")
	}
	e.Digest, e.Number = p.Digest, p.Number
	view, err := editWindow(e, &p)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, a.o.Trigger)
	defer cancel()
	args := url.Values{"trigger_id": {in.TriggerID}, "view": {string(view)}}
	err = a.web.call(within, request{method: "views.open", args: args, priority: outbox.Approval})
	if err != nil && !outbox.IsLost(err) { // else it may be open
		_ = a.confide(ctx, in, fmt.Sprintf("The form did not open. In a message, `edit %d {…}` does the same.", p.Number))
		return fmt.Errorf("open a form: %w", err)
	}
	return nil
}

// confide tells whoever clicked something that nobody else sees.
func (a *Adapter) confide(ctx context.Context, in interaction, text string) error {
	args := url.Values{"channel": {in.Channel.ID}, "user": {in.User.ID}, "text": {escape(text)}}
	if in.Container.Thread != "" {
		args.Set("thread_ts", in.Container.Thread)
	}
	return a.web.call(ctx, request{method: "chat.postEphemeral", args: args, priority: outbox.Answer})
}

// editWindow writes the forms.
func editWindow(e editable, p *chat.Approval) (json.RawMessage, error) {
	return formWindow(editForm, e, forms.Title(p, 24), editNote, forms.Of(p.Parameters, p.Args, roomy))
}

// formWindow writes a form for arguments; what it is about goes with it.
func formWindow(callback string, what any, title, note string, fields []forms.Field) (json.RawMessage, error) {
	private, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	blocks := []slackgo.Block{slackgo.NewContextBlock("", slackgo.NewTextBlockObject(slackgo.PlainTextType, note, false, false))}
	for _, f := range fields {
		input := slackgo.NewInputBlock(f.ID, plainText(f.Label), nil, editElement(f)).WithOptional(!f.Required)
		if f.About != "" {
			input.Hint = plainText(shorten(f.About, 300))
		}
		blocks = append(blocks, input)
	}
	return json.Marshal(slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: callback, PrivateMetadata: string(private),
		Title: plainText(title), Submit: plainText("Send"), Close: plainText("Close"), Blocks: slackgo.Blocks{BlockSet: blocks},
	})
}

// editNote is what the form says before everything else.
const editNote = "The card shows what you send, beside what it was. All votes so far are void then, and nothing runs before somebody approves it."

func editElement(f forms.Field) slackgo.BlockElement {
	switch f.Kind {
	case forms.Menu:
		var options []*slackgo.OptionBlockObject
		var first *slackgo.OptionBlockObject
		for _, o := range f.Options {
			options = append(options, slackgo.NewOptionBlockObject(o.Value, plainText(o.Label), nil))
			if o.Value == f.Value {
				first = options[len(options)-1]
			}
		}
		menu := slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, nil, f.ID, options...)
		menu.InitialOption = first
		return menu
	case forms.Box:
		yes := slackgo.NewOptionBlockObject(forms.Ticked, plainText("Yes"), nil)
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

// changed takes in what somebody makes of a call.
func (a *Adapter) changed(ctx context.Context, in interaction) error {
	var e editable
	if err := json.Unmarshal([]byte(in.View.Private), &e); err != nil {
		return malformed("form", err)
	}
	return a.sent(ctx, in, e.Thread, chat.Change{Call: e.Call, Digest: e.Digest}, a.o.Inbox.Change, "slack:change:")
}

// sent puts the arguments that somebody sends with a form. To run a call they have to be
// heard; whether they may change one is judged later.
func (a *Adapter) sent(ctx context.Context, in interaction, thread chat.ThreadID, c chat.Change, put forms.Put, key string) error {
	filled, ids := in.filled()
	args, wrong := forms.Read(filled)
	switch {
	case wrong != nil:
		return formErrors{wrong.ID: sentence(wrong.Why)}
	case len(ids) == 0:
		return malformed("form without fields", nil)
	case !whole(args): // whoever approves has to see what runs
		return formErrors{ids[0]: fmt.Sprintf("These arguments are longer than a card can show (%d characters). In a message, the words edit and run take them.", mostInline)}
	}
	a.names.older(in.User.ID, voteStays)
	heard, by, err := a.hears(ctx, in.User.ID, channelOf(thread.Channel))
	switch {
	case err != nil:
		return fmt.Errorf("look up who sends a form: %w", err)
	case !heard && (c.Digest == "" || by.Barred == ""):
		return formErrors{ids[0]: "Only those whom I listen to here can run something."}
	}
	c.By, c.Args = by, args
	refused, err := put(ctx, thread, c, key+in.View.ID+":"+chat.Sum(args)[:front.DigestDigits])
	switch {
	case err != nil:
		return fmt.Errorf("put the arguments of a form: %w", err)
	case refused != "":
		return formErrors{forms.Blame(ids, refused): sentence(refused)}
	}
	return nil
}

// sentence writes what is wrong as people read it.
func sentence(why string) string {
	why = shorten(chat.Exact(chat.Flat(why)), 400)
	first, n := utf8.DecodeRuneInString(why)
	return string(unicode.ToUpper(first)) + why[n:] + "."
}

// filled lists what the fields of a form were filled in with, in order.
func (in interaction) filled() (out []forms.Filled, ids []string) {
	for _, b := range in.View.Blocks {
		for _, v := range in.View.State.Values[b.ID] {
			f := forms.Filled{ID: b.ID, Value: v.Value}
			if v.Option != nil {
				f.Value = v.Option.Value
			}
			for _, o := range v.Options {
				f.Value = o.Value
			}
			out, ids = append(out, f), append(ids, b.ID)
		}
	}
	return out, ids
}
