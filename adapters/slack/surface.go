package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/summary"
)

// decode reads JSON of Slack's.
func decode(raw json.RawMessage, into any) error { return json.Unmarshal(raw, into) }

// showSteps opens a window with the steps of a turn, whole, for the person who
// clicked. It shows a thread only to somebody who sees its channel: the click
// came from there.
func (a *Adapter) showSteps(ctx context.Context, in interaction, value string) error {
	name, turn, _ := strings.Cut(value, " ")
	thread, err := chat.ParseThreadID(name)
	if err != nil || thread.Channel != place(a.who().TeamID, in.Channel.ID) {
		return errors.New("the button names another channel")
	}
	steps, ok, err := a.o.Inbox.Steps(ctx, thread, turn)
	if err != nil {
		return fmt.Errorf("read the steps: %w", err)
	}
	blocks := []slackgo.Block{section("These steps are not kept any more.")}
	if ok {
		blocks = fullSteps(steps)
	}
	view, err := json.Marshal(slackgo.ModalViewRequest{
		Type: slackgo.VTModal, Title: plainText("Steps"), Close: plainText("Close"), Blocks: slackgo.Blocks{BlockSet: blocks},
	})
	if err != nil {
		return fmt.Errorf("write the window: %w", err)
	}
	args := url.Values{"trigger_id": {in.TriggerID}, "view": {string(view)}}
	return a.web.call(ctx, request{method: "views.open", args: args, priority: outbox.Approval})
}

// fullSteps writes steps whole, as far as a window has room.
func fullSteps(s chat.Steps) []slackgo.Block {
	out := []slackgo.Block{section(summary.Lines("*"+escape(stepsTitle(&s))+"*", escape(summary.Spent(&s))))}
	add := func(label, text string) {
		out = append(out, section("*"+label+"*"))
		for _, p := range pieces(chat.Exact(text), mostSection) {
			out = append(out, slackgo.NewSectionBlock(plainText(p), nil, nil, slackgo.SectionBlockOptionExpand(true)))
		}
	}
	for _, item := range s.Items {
		if item.Thought != "" {
			add("Thought", item.Thought)
		}
		for _, c := range item.Calls {
			add("Action "+inlineCode(shorten(c.Tool, 100)), c.Args)
			if c.Observation != "" {
				add("Observation ("+escape(string(c.State))+")", c.Observation)
			}
		}
	}
	if more := len(out) - mostModal; more > 0 {
		out = append(out[:mostModal-1], section("_There is more. Write `steps` in the thread to see it._"))
	}
	return out
}
