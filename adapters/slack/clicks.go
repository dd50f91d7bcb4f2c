package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/inbound"
	"nod/chat/outbox"
)

// Slack does not deliver a click again. So one that decides something is put
// before it is acknowledged, and whoever clicked sees a warning where that fails;
// one that only shows something is acknowledged first.

// Callbacks of windows and of the shortcut.
const (
	reasonForm = "nod_reason"
	stepsView  = "nod_steps_view"
	askAbout   = "nod_ask"
)

// interacted handles what people do with buttons, windows and shortcuts.
func (a *Adapter) interacted(ctx context.Context, payload json.RawMessage, ack func(ctx context.Context, answer any)) {
	var in interaction
	if err := json.Unmarshal(payload, &in); err != nil {
		inbound.Count(a.o.Observe.Malformed)
		a.log.Warn("click not understood")
		ack(ctx, nil)
		return
	}
	lane, do := "click:"+in.TriggerID, a.meant(in)
	if do == nil {
		ack(ctx, nil)
		return
	}
	a.lanes.Run(ctx, lane, callTimeout, func(ctx context.Context) {
		if shows(in) {
			ack(ctx, nil)
		}
		err := do(ctx)
		var wrong formErrors
		switch {
		case errors.As(err, &wrong):
			ack(ctx, map[string]any{"response_action": "errors", "errors": wrong})
		case err != nil:
			a.log.Warn("do what a click means", "type", in.Type, "error", err)
		case !shows(in):
			ack(ctx, nil)
		}
	})
}

// shows says whether an interaction only shows something.
func shows(in interaction) bool {
	opens := []string{showAll, tellID, editID}
	return in.Type == "block_actions" && (in.View.ID != "" || len(in.Actions) > 0 && slices.Contains(opens, in.Actions[0].ActionID))
}

// meant gives what an interaction asks for; nil for nothing.
func (a *Adapter) meant(in interaction) func(context.Context) error {
	switch in.Type {
	case "block_actions":
		for _, act := range in.Actions {
			switch act.ActionID {
			case showAll:
				return func(ctx context.Context) error { return a.showSteps(ctx, in, act.Value) }
			case olderID, newerID:
				return func(ctx context.Context) error { return a.turnPage(ctx, in, act.Value) }
			case againID:
				return func(ctx context.Context) error { return a.editAgain(ctx, in, act.Value) }
			case editID:
				return func(ctx context.Context) error { return a.edit(ctx, in, act.Value) }
			case approveID, denyID, grantID, retryID:
				return func(ctx context.Context) error { return a.vote(ctx, in, act.ActionID, act.Value, act.TS) }
			case opinionID:
				return func(ctx context.Context) error { return a.thinks(ctx, in, act.Value, act.TS) }
			case tellID:
				return func(ctx context.Context) error { return a.tells(ctx, in, act.Value) }
			}
		}
	case "view_submission", "view_closed":
		switch in.View.Callback {
		case reasonForm:
			return func(ctx context.Context) error { return a.explained(ctx, in) }
		case editForm:
			return func(ctx context.Context) error { return a.changed(ctx, in) }
		case againForm:
			return func(ctx context.Context) error { return a.ranAgain(ctx, in) }
		case opinionForm:
			return func(ctx context.Context) error { return a.criticised(ctx, in) }
		}
	case "message_action":
		if in.Callback == askAbout && in.Message != nil {
			return func(ctx context.Context) error { return a.askedAbout(ctx, in) }
		}
	}
	return nil
}

// vote takes in a click that stands for an emoji.
func (a *Adapter) vote(ctx context.Context, in interaction, button, emoji, ts string) error {
	if in.Channel.ID == "" || in.Container.TS == "" || in.User.ID == "" {
		return malformed("click without channel, message or user", nil)
	}
	by, err := a.voter(ctx, in.User.ID, in.Channel.ID)
	if err != nil {
		return fmt.Errorf("look up who clicked: %w", err)
	}
	if by.Barred != "" && button == retryID {
		return nil
	}
	emoji, on := in.about(emoji)
	r := chat.Reaction{On: refOf(a.who().TeamID, in.Channel.ID, on), By: by, Emoji: chat.NormalEmoji(emoji), Button: true}
	if button == grantID {
		r.Grant = &chat.Grant{} // as long as it may be, which is what the button says
	}
	if button == denyID {
		a.noteDenial(ctx, clicked{r.On, by.ID}, denial{Trigger: in.TriggerID, At: a.o.Now()})
	}
	fresh, err := a.o.Inbox.Reaction(ctx, r, changeKeys("", "click:"+in.User.ID+":"+button, in.Channel.ID, in.Container.TS, ts)...)
	if err != nil {
		return fmt.Errorf("put a click: %w", err)
	}
	a.o.Observe.Put(fresh)
	return nil
}

// about is what a reason is for.
type about struct {
	Thread string `json:"thread"`
	Call   string `json:"call"`
}

// reasonWindow writes the form that asks why.
func reasonWindow(what about) (json.RawMessage, error) {
	return asksInWords(reasonForm, what, "Denied", "Too late in the day, for example", true)
}

// asksInWords writes a form with one field. tells says that the bot wants to hear
// when it is closed.
func asksInWords(callback string, what any, title, hint string, tells bool) (json.RawMessage, error) {
	private, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	field := slackgo.NewPlainTextInputBlockElement(plainText(hint), "reason")
	field.Multiline, field.MaxLength = true, 500
	input := slackgo.NewInputBlock("reason", plainText("Reason"), nil, field).WithOptional(true)
	return json.Marshal(slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: callback, PrivateMetadata: string(private), NotifyOnClose: tells,
		Title: plainText(title), Submit: plainText("Send"), Close: plainText("Close"),
		Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{input}},
	})
}

// explained takes in a reason, or that there is none.
func (a *Adapter) explained(ctx context.Context, in interaction) error {
	var what about
	if err := json.Unmarshal([]byte(in.View.Private), &what); err != nil {
		return malformed("form", err)
	}
	thread, err := chat.ParseThreadID(what.Thread)
	if err != nil {
		return malformed("form of another thread", err)
	}
	by, err := a.user(ctx, in.User.ID)
	if err != nil {
		return fmt.Errorf("look up who denied: %w", err)
	}
	text := ""
	if in.Type == "view_submission" {
		text = in.View.State.Values["reason"]["reason"].Value
	}
	if _, err := a.o.Inbox.Reason(ctx, thread, what.Call, by, chat.Flat(text), "slack:reason:"+in.View.ID); err != nil {
		return fmt.Errorf("put a reason: %w", err)
	}
	return nil
}

// aboutThis is what the shortcut says for whoever uses it.
const aboutThis = "What about this message?"

// askedAbout has the bot called about a message: in its thread where the bot can
// write there, else in the direct conversation with whoever asks.
func (a *Adapter) askedAbout(ctx context.Context, in interaction) error {
	heard, from, err := a.hears(ctx, in.User.ID, in.Channel.ID)
	if err != nil || !heard {
		return err
	}
	ev := *in.Message
	author := a.from(ctx, ev)
	a.learn(ctx, a.o.NameWait, mentioned(ev.Text))
	w := a.words(ctx)
	w.self = ""
	m := chat.Message{From: from, Text: aboutThis, Sent: sentAt(in.ActionTS), About: true}
	if m.Sent.IsZero() {
		m.Sent = a.o.Now().UTC()
	}
	if text := w.readable(textOf(ev)); text != "" {
		m.Quoted = append(m.Quoted, chat.Quote{From: author, Text: text})
	}
	m.Quoted = append(m.Quoted, w.passedOn(ev, author)...)
	ev.Channel = in.Channel.ID
	thread := a.threadOf(ev)
	m.Ref = inThread(thread, ev.TS)
	if !a.writes(ctx, in.Channel.ID) {
		channel, root, err := a.begin(ctx, in.User.ID, aboutThis)
		if err != nil {
			return err
		}
		thread = a.threadOf(event{Channel: channel, TS: root})
		m.Ref, m.About = inThread(thread, root), false
	}
	m.Files = a.attached(ctx, thread, ev)
	fresh, err := a.o.Inbox.Message(ctx, thread, m, "slack:ask:"+in.TriggerID)
	if err != nil {
		return fmt.Errorf("put a question: %w", err)
	}
	a.o.Observe.Put(fresh)
	return nil
}

// writes says whether the bot can write in a channel: it is a member.
func (a *Adapter) writes(ctx context.Context, channel string) bool {
	var said struct {
		Channel struct {
			Member bool `json:"is_member"`
			IM     bool `json:"is_im"`
		} `json:"channel"`
	}
	err := a.web.call(ctx, request{method: "conversations.info", args: url.Values{"channel": {channel}}, priority: outbox.Answer, answer: &said})
	return err == nil && (said.Channel.Member || said.Channel.IM)
}

// begin opens a thread in the direct conversation with somebody.
func (a *Adapter) begin(ctx context.Context, user, text string) (channel, root string, err error) {
	var said struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}
	args := url.Values{"channel": {user}, "text": {escape(text)}, "mrkdwn": {"false"}}
	err = a.web.call(ctx, request{method: "chat.postMessage", args: args, priority: outbox.Answer, answer: &said})
	if err != nil {
		return "", "", fmt.Errorf("open a conversation: %w", err)
	}
	return said.Channel, said.TS, nil
}
