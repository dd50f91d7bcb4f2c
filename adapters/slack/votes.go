package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/outbox"
	"nod/front"
)

// standing is what reactions.get says of a message.
type standing struct {
	Text      string                 `json:"text"`
	Blocks    json.RawMessage        `json:"blocks"`
	Reactions []slackgo.ItemReaction `json:"reactions"`
}

// stands looks at a message, with all who reacted.
func (a *Adapter) stands(ctx context.Context, ref chat.MessageRef) (m standing, err error) {
	args := url.Values{"channel": {api.ChannelOf(ref.Channel)}, "timestamp": {ref.ID}, "full": {"true"}}
	err = a.web.Call(ctx, api.Request{Method: "reactions.get", Args: args, Priority: outbox.Approval, Answer: &m, Field: "message"})
	if err != nil && missing(err) == nil {
		err = fmt.Errorf("%w: %w", chat.ErrGone, err)
	}
	return m, err
}

// Reactions gives the reactions of people on a message.
func (a *Adapter) Reactions(ctx context.Context, p chat.Pending, _ bool) ([]chat.Reaction, error) {
	m, err := a.stands(ctx, p.Ref)
	var out []chat.Reaction
	for _, r := range m.Reactions {
		for _, u := range r.Users {
			if u != a.who().UserID {
				out = append(out, chat.Reaction{On: p.Ref, By: chat.User{ID: chat.UserID(u)}, Emoji: chat.NormalEmoji(r.Name)})
			}
		}
	}
	return out, err
}

// Headline is the first line of a message: each card begins with it, in all its forms.
func (a *Adapter) Headline(ctx context.Context, _ chat.ThreadID, ref chat.MessageRef) (chat.Shown, error) {
	m, err := a.stands(ctx, ref)
	if err != nil {
		return chat.Shown{}, err
	}
	first, _, _ := strings.Cut(m.Text, "\n")
	return chat.Shown{Headline: first, Digest: front.DigestIn(m.Text + string(m.Blocks))}, nil
}
