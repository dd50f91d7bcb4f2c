package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// openDirect opens the direct conversation with somebody
// (https://docs.slack.dev/reference/methods/conversations.open). Repeating it is
// harmless.
func (a *Adapter) openDirect(ctx context.Context, who string) (string, error) {
	var opened struct {
		ID string `json:"id"`
	}
	err := a.web.Call(ctx, api.Request{Method: "conversations.open", Args: url.Values{"users": {who}}, Priority: outbox.Approval, Answer: &opened, Field: "channel"})
	if err == nil && opened.ID == "" {
		err = errors.New("the answer names no conversation")
	}
	if err != nil {
		return "", api.Gone(fmt.Errorf("open a direct conversation: %w", err))
	}
	return opened.ID, nil
}

// Direct says whether a thread is in a direct conversation.
func (a *Adapter) Direct(thread chat.ThreadID) bool { return api.IsDM(api.ChannelOf(thread.Channel)) }

// Partner is the person with whom a conversation is a direct one; "" where there is
// none, and in doubt.
func (a *Adapter) Partner(ctx context.Context, thread chat.ThreadID) chat.UserID {
	channel := api.ChannelOf(thread.Channel)
	if !api.IsDM(channel) {
		return ""
	}
	c, err := a.web.Channel(ctx, channel, outbox.Approval)
	if err != nil {
		return ""
	}
	return chat.UserID(c.User)
}

// People lists whom a rule means; known is false for a group that Slack does not show.
func (a *Adapter) People(ctx context.Context, _ chat.ThreadID, rule string, _ int) (who []chat.User, known bool, err error) {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == "user" && layout.UserID.MatchString(id):
		return []chat.User{{ID: chat.UserID(id)}}, true, nil
	case kind != "group":
		return nil, true, nil // another platform's
	}
	ids, err := a.web.Members(ctx, id)
	switch {
	case api.Code(err) != "" && !api.Dead(err):
		a.log.Warn("list who may decide", "error", err)
		return nil, false, nil
	case err != nil:
		return nil, false, err
	}
	for _, id := range slices.Sorted(slices.Values(ids)) {
		who = append(who, chat.User{ID: chat.UserID(id)})
	}
	return who, true, nil
}

// ChannelID is the form of the id of a channel in which a card may be shown, besides its thread.
var ChannelID = regexp.MustCompile(`^[CG][A-Z0-9]{2,}$`)

// Place is where a card is shown outside of its thread: a channel that the bot is in, or
// the direct conversation with somebody.
func (a *Adapter) Place(ctx context.Context, place string) (chat.ThreadID, error) {
	kind, id, _ := strings.Cut(place, ":")
	direct := kind == "user" && layout.UserID.MatchString(id)
	if !direct && (kind != "channel" || !ChannelID.MatchString(id)) {
		return chat.ThreadID{}, chat.ErrElsewhere
	}
	err := a.signedIn(ctx)
	if err == nil && direct {
		id, err = a.openDirect(ctx, id)
	}
	return api.ThreadID(a.who().TeamID, id, ""), err
}
