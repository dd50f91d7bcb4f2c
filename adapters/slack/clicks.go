package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/inbound"
	"nod/chat/outbox"
	"nod/front"
)

// Slack does not deliver a click again. So one that decides something is put before it is
// acknowledged, and the person who clicked sees a warning where that fails; one that only
// shows something is acknowledged first.

// Callbacks of windows and of the shortcut.
const (
	stepsView = "nod_steps_view"
	AskAbout  = "nod_ask"
)

var verbs = map[string]front.Verb{
	layout.ApproveID: front.Approve, layout.DenyID: front.Deny, layout.GrantID: front.Grant, layout.CodeID: front.Code, layout.GrantByID: front.GrantBy, layout.EditID: front.Edit, layout.AgainID: front.Rerun,
	layout.RetryID: front.TryAgain, layout.OpinionID: front.Good, layout.TellID: front.Tell,
	layout.ShowAll: front.Show, olderID: front.Show, newerID: front.Show,
}

// interacted handles what people do with buttons, windows and shortcuts.
func (a *Adapter) interacted(ctx context.Context, payload json.RawMessage, ack func(answer any)) {
	var in api.Interaction
	if err := json.Unmarshal(payload, &in); err != nil {
		inbound.Count(a.o.Observe.Malformed)
		a.log.Warn("click not understood")
		ack(nil)
		return
	}
	lane, do := "click:"+in.TriggerID, a.meant(in)
	if do == nil {
		ack(nil)
		return
	}
	a.lanes.Run(ctx, lane, api.CallTimeout, func(ctx context.Context) {
		if shows(in) {
			ack(nil)
		}
		err := do(ctx)
		var wrong formErrors
		switch {
		case errors.As(err, &wrong):
			ack(map[string]any{"response_action": "errors", "errors": wrong})
		case err != nil:
			a.log.Warn("handle a click", "type", in.Type, "error", err)
		case !shows(in):
			ack(nil)
		}
	})
}

// shows says whether an interaction only shows something.
func shows(in api.Interaction) bool {
	return in.Type == "block_actions" && (in.View.ID != "" || len(in.Actions) > 0 && verbs[in.Actions[0].ActionID].Opens())
}

// meant gives what an interaction asks for; nil for nothing.
func (a *Adapter) meant(in api.Interaction) func(context.Context) error {
	switch in.Type {
	case "block_actions":
		for _, act := range in.Actions {
			if verbs[act.ActionID] != "" {
				return func(ctx context.Context) error { return a.clicked(ctx, in, act) }
			}
		}
	case "view_submission", "view_closed":
		if formVerb(in.View.Callback) != "" {
			return func(ctx context.Context) error { return a.filled(ctx, in) }
		}
	case "message_action":
		if in.Callback == AskAbout && in.Message != nil {
			return func(ctx context.Context) error { return a.askedAbout(ctx, in) }
		}
	}
	return nil
}

// clickOf reads what a button means.
func (a *Adapter) clickOf(in api.Interaction, act slackgo.BlockAction) (front.Click, error) {
	c := front.Click{
		Verb: verbs[act.ActionID], Trigger: in.TriggerID, Thread: api.ThreadID(a.who().TeamID, in.Channel.ID, in.Container.Thread),
		ID: strings.Join([]string{"slack:click", in.User.ID, act.ActionID, in.Channel.ID, in.Container.TS, act.ActionTs}, ":"),
	}
	said, on := in.About(act.Value)
	switch c.Verb {
	case front.Edit, front.Rerun, front.Show, front.Code, front.GrantBy:
		parts := strings.Split(act.Value, " ")
		thread, err := chat.ParseThreadID(parts[0])
		if err != nil || len(parts) < 2 || in.User.ID == "" {
			return c, api.Malformed("button of a form", err)
		}
		if act.ActionID == layout.ShowAll && thread.Channel != c.Thread.Channel { // a thread is for those who see its channel
			return c, api.Malformed("the button names another channel", nil)
		}
		c.Thread, c.Turn = thread, parts[1]
		if c.Call, err = url.PathUnescape(parts[1]); err != nil {
			return c, api.Malformed("button of a form", err)
		}
		c.Digest = strings.Join(parts[2:], "")
		return c, nil
	case front.Good:
		if said != layout.ThinksGood {
			c.Verb = front.Bad
		}
	default:
		c.Emoji = said
	}
	if in.Channel.ID == "" || in.Container.TS == "" || in.User.ID == "" {
		return c, api.Malformed("click without channel, message or user", nil)
	}
	c.On = api.RefOf(a.who().TeamID, in.Channel.ID, on)
	return c, nil
}

// clicked has front handle a click. There is no time to look the person up before a form
// opens, and the judge of votes does that itself.
func (a *Adapter) clicked(ctx context.Context, in api.Interaction, act slackgo.BlockAction) error {
	c, err := a.clickOf(in, act)
	if err != nil {
		return err
	}
	c.By.ID = chat.UserID(in.User.ID)
	if !c.Verb.Opens() && !c.Verb.Votes() {
		if c.By, c.Heard, err = a.speaker(ctx, in.User.ID, in.Channel.ID); err != nil {
			return err
		}
	}
	ans, err := a.Click(ctx, c)
	if err != nil && shows(in) {
		return errors.Join(err, a.answer(ctx, in, front.Answer{Alone: front.Away}))
	} else if err != nil {
		return err
	}
	return a.answer(ctx, in, ans)
}

// speaker is who clicked or sent a form, looked up anew, and whether they are heard.
func (a *Adapter) speaker(ctx context.Context, user, channel string) (by chat.User, heard bool, err error) {
	a.names.had.Take(user)
	if heard, by, err = a.hears(ctx, user, channel); err != nil {
		return by, false, fmt.Errorf("look up who it is: %w", err)
	}
	return by, heard, nil
}

// answer gives the person who clicked their answer.
func (a *Adapter) answer(ctx context.Context, in api.Interaction, ans front.Answer) error {
	switch {
	case ans.Form != nil:
		return a.open(ctx, in, *ans.Form)
	case ans.Steps != nil:
		return a.showSteps(ctx, in, *ans.Steps)
	case ans.Alone == "" || ans.Alone == front.Noted: // the buttons themselves show that
		return nil
	case in.View.ID != "":
		view := stepsWindow("", [][]slackgo.Block{{layout.Section(layout.Escape(ans.Alone))}}, 0)
		return a.show(ctx, "views.update", url.Values{"view_id": {in.View.ID}}, view, outbox.Approval)
	}
	return a.confide(ctx, api.ThreadID(a.who().TeamID, in.Channel.ID, in.Container.Thread), chat.UserID(in.User.ID), ans)
}

// open opens a form, in the place of the window with the button, or beside the message with
// it; that is not waited for.
func (a *Adapter) open(ctx context.Context, in api.Interaction, f front.Form) error {
	if in.View.ID != "" {
		return a.showForm(ctx, "views.update", url.Values{"view_id": {in.View.ID}}, f)
	}
	a.working.calls.Go(func() {
		within, cancel := context.WithTimeout(a.working.ctx, a.o.Trigger)
		defer cancel()
		err := a.openForm(within, f)
		if err == nil || outbox.IsLost(err) { // a form whose outcome is unknown may be open
			return
		}
		a.log.Debug("open a form", "error", err)
		ctx, cancel := context.WithTimeout(a.working.ctx, api.CallTimeout)
		defer cancel()
		ans, err := a.Unopened(ctx, f)
		if err == nil {
			err = a.answer(ctx, in, ans)
		}
		if err != nil {
			a.log.Warn("say that a form did not open", "error", err)
		}
	})
	return nil
}

// openForm implements front.Options.Open.
func (a *Adapter) openForm(ctx context.Context, f front.Form) error {
	return a.showForm(ctx, "views.open", url.Values{"trigger_id": {f.Trigger}}, f)
}

func (a *Adapter) showForm(ctx context.Context, method string, args url.Values, f front.Form) error {
	view, err := formView(f)
	if err != nil {
		return err
	}
	return a.show(ctx, method, args, view, outbox.Approval)
}

// confide tells one person something that nobody else sees.
func (a *Adapter) confide(ctx context.Context, thread chat.ThreadID, to chat.UserID, ans front.Answer) error {
	args := url.Values{"channel": {api.ChannelOf(thread.Channel)}, "user": {string(to)}, "text": {layout.Shorten(layout.Escape(ans.Alone), layout.MostFallback)}}
	if thread.Root != "" {
		args.Set("thread_ts", thread.Root)
	}
	if ans.Button != nil {
		raw, err := json.Marshal(Confided(ans))
		if err != nil {
			return fmt.Errorf("write blocks: %w", err)
		}
		args.Set("blocks", string(raw))
	}
	return a.web.Call(ctx, api.Request{Method: "chat.postEphemeral", Args: args, Priority: outbox.Answer})
}

// Confided writes a text with a button below that opens a form.
func Confided(ans front.Answer) []slackgo.Block {
	return []slackgo.Block{
		slackgo.NewSectionBlock(layout.PlainText(ans.Alone), nil, nil),
		slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(layout.TellID, layout.ValueOn(layout.ThinksBad, ans.Button.On.ID), layout.PlainText(front.TellText))),
	}
}

// AskWhy asks a person who reacted to an answer with 👎 what was wrong.
func (a *Adapter) AskWhy(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef) error {
	ans := a.Wonder(thread, to, about)
	if ans.Button == nil {
		return nil
	}
	return a.confide(ctx, thread, to.ID, ans)
}

// aboutThis is what the shortcut says for whoever uses it.
const aboutThis = "What about this message?"

// askedAbout has the bot called about a message: in its thread where the bot can
// write there, else in the direct conversation with whoever asks.
func (a *Adapter) askedAbout(ctx context.Context, in api.Interaction) error {
	heard, from, err := a.hears(ctx, in.User.ID, in.Channel.ID)
	if err != nil || !heard {
		return err
	}
	ev := *in.Message
	author := a.from(ctx, ev)
	a.learn(ctx, a.o.NameWait, mentioned(ev.Text))
	w := a.words(ctx)
	w.self = nil
	m := chat.Message{From: from, Text: aboutThis, Sent: api.SentAt(in.ActionTS), About: true}
	if m.Sent.IsZero() {
		m.Sent = a.o.Now().UTC()
	}
	if text := w.readable(textOf(ev)); text != "" {
		m.Quoted = append(m.Quoted, chat.Quote{From: author, Text: text})
	}
	m.Quoted = append(m.Quoted, w.passedOn(ev, author)...)
	ev.Channel = in.Channel.ID
	thread := a.threadOf(ev)
	m.Ref = api.InThread(thread, ev.TS)
	if c, err := a.web.Channel(ctx, in.Channel.ID, outbox.Answer); err != nil || !c.Has() && !c.IM { // it can't write there
		channel, root, err := a.begin(ctx, in.User.ID, aboutThis)
		if err != nil {
			return err
		}
		thread = a.threadOf(api.Event{Channel: channel, TS: root})
		m.Ref, m.About = api.InThread(thread, root), false
	}
	m.Files = a.attached(ctx, thread, allFiles(ev))
	return a.Put(a.o.Inbox.Message(ctx, thread, m, "slack:ask:"+in.TriggerID))
}

// begin opens a thread in the direct conversation with somebody.
func (a *Adapter) begin(ctx context.Context, user, text string) (channel, root string, err error) {
	var said struct {
		Channel string `json:"channel"`
		TS      string `json:"ts"`
	}
	args := url.Values{"channel": {user}, "text": {layout.Escape(text)}, "mrkdwn": {"false"}}
	err = a.web.Call(ctx, api.Request{Method: "chat.postMessage", Args: args, Priority: outbox.Answer, Answer: &said})
	if err != nil {
		return "", "", fmt.Errorf("open a conversation: %w", err)
	}
	return said.Channel, said.TS, nil
}
