package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/outbox"
)

// Under an answer stand buttons: another try, and what somebody thinks of it
// (https://docs.slack.dev/reference/block-kit/blocks/context-actions-block).
// Whoever thinks badly of it is asked once, alone, what was wrong: in a form where
// they clicked, and where they reacted, which opens nothing, in a message to them
// with a button that does.

// The buttons under an answer, the form that asks, and the button that opens it.
const (
	retryID     = "nod_retry"
	opinionID   = "nod_opinion"
	opinionForm = "nod_opinion_form"
	tellID      = "nod_tell"
)

// The values of the buttons that say what somebody thinks.
const (
	thinksGood = "good"
	thinksBad  = "bad"
)

// buttoned puts the buttons under the last message of an answer. A workspace that
// does not take those of opinions may take the other.
func buttoned(p part, c card) part {
	var out part
	rich := func(shape string, under func(string) []slackgo.Block) {
		f := p[0]
		f.shape, f.under, f.rest = shape, under, nil
		out = append(out, f)
	}
	again := func(answer string) []slackgo.Block {
		return []slackgo.Block{slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(retryID, valueOn(chat.EmojiRetry, answer), plainText("Try again")))}
	}
	if !c.again {
		again = func(string) []slackgo.Block { return nil }
	}
	rich("opinion buttons", func(answer string) []slackgo.Block { return append(again(answer), thumbs(answer)) })
	if c.again {
		rich("answer buttons", again)
	}
	return append(out, p...)
}

// thumbs are the buttons that say what somebody thinks of an answer.
func thumbs(answer string) slackgo.Block {
	button := func(text, value string) *slackgo.FeedbackButton {
		return slackgo.NewFeedbackButton(plainText(text), valueOn(value, answer))
	}
	return slackgo.NewContextActionsBlock("", slackgo.NewFeedbackButtonsBlockElement(opinionID,
		button(chat.EmojiGood, thinksGood).WithAccessibilityLabel("Good answer"),
		button(chat.EmojiBad, thinksBad).WithAccessibilityLabel("Bad answer")))
}

// valueOn is the value of a button that is about another message than its own:
// the first of an answer.
func valueOn(value, answer string) string { return strings.TrimSuffix(value+" "+answer, " ") }

// about reads such a value: what the button says, and of which message.
func (in interaction) about(value string) (said, ts string) {
	said, ts, _ = strings.Cut(value, " ")
	return said, chat.FirstOf(ts, in.Container.TS)
}

// thinks takes in what somebody thinks of an answer, and asks whoever thinks badly
// of it why.
func (a *Adapter) thinks(ctx context.Context, in interaction, value, ts string) error {
	if in.Channel.ID == "" || in.Container.TS == "" || in.User.ID == "" {
		return malformed("opinion without channel, message or user", nil)
	}
	by, err := a.voter(ctx, in.User.ID, in.Channel.ID)
	if err != nil {
		return fmt.Errorf("look up who thinks so: %w", err)
	}
	said, answer := in.about(value)
	if by.Barred != "" || said != thinksGood && said != thinksBad {
		return nil
	}
	on := refOf(a.who().TeamID, in.Channel.ID, answer)
	keys := changeKeys("", "opinion:"+in.User.ID+":"+said, in.Channel.ID, in.Container.TS, ts)
	fresh, err := a.o.Inbox.Feedback(ctx, on, by, said == thinksGood, "", keys...)
	if err != nil {
		return fmt.Errorf("put an opinion: %w", err)
	}
	a.o.Observe.Put(fresh)
	if said == thinksBad && a.asked.Add(clicked{on, by.ID}) {
		thread := threadID(a.who().TeamID, in.Channel.ID, in.Container.Thread)
		a.askWhatWasWrong(in.TriggerID, criticism{Channel: in.Channel.ID, Answer: answer}, func(ctx context.Context) error {
			return a.askInMessage(ctx, thread, by.ID, on)
		})
	}
	return nil
}

// criticism is what the form is about.
type criticism struct {
	Channel string `json:"channel"`
	Answer  string `json:"answer"`
}

// askWhatWasWrong opens the form; where none opens, instead is done. It does not
// wait.
func (a *Adapter) askWhatWasWrong(trigger string, what criticism, instead func(context.Context) error) {
	view, err := opinionWindow(what)
	if err != nil {
		return
	}
	args := url.Values{"trigger_id": {trigger}, "view": {string(view)}}
	a.working.calls.Go(func() {
		ctx, cancel := context.WithTimeout(a.working.ctx, a.o.Trigger)
		defer cancel()
		err := a.web.call(ctx, request{method: "views.open", args: args, priority: outbox.Approval})
		if err != nil && !outbox.IsLost(err) { // a form whose outcome is unknown may be open
			ctx, cancel := context.WithTimeout(a.working.ctx, callTimeout)
			defer cancel()
			err = instead(ctx)
		}
		if err != nil {
			a.log.Debug("ask what was wrong with an answer", "error", err)
		}
	})
}

// AskWhy asks whoever reacted to an answer with 👎 what was wrong: a reaction lets
// no form be opened.
func (a *Adapter) AskWhy(ctx context.Context, thread chat.ThreadID, to chat.User, about chat.MessageRef) error {
	if to.Barred != "" || !a.asked.Add(clicked{about, to.ID}) {
		return nil
	}
	return a.askInMessage(ctx, thread, to.ID, about)
}

// whatWrong are the words of such a message.
const whatWrong = "I noted that this answer was not good. What was wrong with it?"

// askInMessage asks in a message that only one person sees, with a button that
// opens the form.
func (a *Adapter) askInMessage(ctx context.Context, thread chat.ThreadID, to chat.UserID, about chat.MessageRef) error {
	raw, err := json.Marshal(whatWrongBlocks(about.ID))
	if err != nil {
		return fmt.Errorf("write blocks: %w", err)
	}
	args := url.Values{"channel": {channelOf(thread.Channel)}, "user": {string(to)}, "text": {whatWrong}, "blocks": {string(raw)}}
	if thread.Root != "" {
		args.Set("thread_ts", thread.Root)
	}
	return a.web.call(ctx, request{method: "chat.postEphemeral", args: args, priority: outbox.Answer})
}

func whatWrongBlocks(answer string) []slackgo.Block {
	return []slackgo.Block{
		slackgo.NewSectionBlock(plainText(whatWrong), nil, nil),
		slackgo.NewActionBlock("", slackgo.NewButtonBlockElement(tellID, valueOn(thinksBad, answer), plainText("Tell"))),
	}
}

// tells opens the form for whoever was asked in a message.
func (a *Adapter) tells(ctx context.Context, in interaction, value string) error {
	_, answer := in.about(value)
	view, err := opinionWindow(criticism{Channel: in.Channel.ID, Answer: answer})
	if err != nil {
		return fmt.Errorf("write a form: %w", err)
	}
	return a.web.call(ctx, request{method: "views.open", args: url.Values{"trigger_id": {in.TriggerID}, "view": {string(view)}}, priority: outbox.Approval})
}

// opinionWindow writes the form that asks what was wrong.
func opinionWindow(what criticism) (json.RawMessage, error) {
	return asksInWords(opinionForm, what, "What was wrong?", "It is out of date, for example", false)
}

// criticised takes in what was wrong with an answer.
func (a *Adapter) criticised(ctx context.Context, in interaction) error {
	var what criticism
	if err := json.Unmarshal([]byte(in.View.Private), &what); err != nil {
		return malformed("form", err)
	}
	text := chat.Flat(in.View.State.Values["reason"]["reason"].Value)
	if in.Type != "view_submission" || text == "" {
		return nil
	}
	by, err := a.voter(ctx, in.User.ID, what.Channel)
	if err != nil {
		return fmt.Errorf("look up who thinks so: %w", err)
	}
	if by.Barred != "" {
		return nil
	}
	on := refOf(a.who().TeamID, what.Channel, what.Answer)
	if _, err := a.o.Inbox.Feedback(ctx, on, by, false, text, "slack:opinion:"+in.View.ID); err != nil {
		return fmt.Errorf("put an opinion: %w", err)
	}
	return nil
}
