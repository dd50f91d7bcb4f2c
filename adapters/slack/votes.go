package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// Reactions gives the reactions of people on a message.
func (a *Adapter) Reactions(ctx context.Context, p chat.Pending, _ bool) ([]chat.Reaction, error) {
	var said struct {
		Message struct {
			Reactions []struct {
				Name  string   `json:"name"`
				Users []string `json:"users"`
			} `json:"reactions"`
		} `json:"message"`
	}
	args := url.Values{"channel": {api.ChannelOf(p.Ref.Channel)}, "timestamp": {p.Ref.ID}, "full": {"true"}}
	if err := a.web.Call(ctx, api.Request{Method: "reactions.get", Args: args, Priority: outbox.Approval, Answer: &said}); err != nil {
		return nil, asGone(err)
	}
	var out []chat.Reaction
	for _, r := range said.Message.Reactions {
		for _, u := range r.Users {
			if u != a.who().UserID {
				out = append(out, chat.Reaction{On: p.Ref, By: chat.User{ID: chat.UserID(u)}, Emoji: chat.NormalEmoji(r.Name)})
			}
		}
	}
	return out, nil
}

// Headline is the first line of a message: each card begins with it, in all its forms.
func (a *Adapter) Headline(ctx context.Context, _ chat.ThreadID, ref chat.MessageRef) (chat.Shown, error) {
	var said struct {
		Message struct {
			Text   string          `json:"text"`
			Blocks json.RawMessage `json:"blocks"`
		} `json:"message"`
	}
	args := url.Values{"channel": {api.ChannelOf(ref.Channel)}, "timestamp": {ref.ID}}
	if err := a.web.Call(ctx, api.Request{Method: "reactions.get", Args: args, Priority: outbox.Approval, Answer: &said}); err != nil {
		return chat.Shown{}, asGone(err)
	}
	first, _, _ := strings.Cut(said.Message.Text, "\n")
	return chat.Shown{Headline: first, Digest: front.DigestIn(said.Message.Text + string(said.Message.Blocks))}, nil
}

// asGone is an error of looking at what is not there any more, or not for the bot.
func asGone(err error) error {
	if missing(err) == nil {
		return fmt.Errorf("%w: %w", chat.ErrGone, err)
	}
	return err
}
