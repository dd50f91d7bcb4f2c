package slack

import (
	slackgo "github.com/slack-go/slack"

	"nod/chat"
)

// Under an answer stand buttons: another try, and what somebody thinks of it
// (https://docs.slack.dev/reference/block-kit/blocks/context-actions-block).

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
