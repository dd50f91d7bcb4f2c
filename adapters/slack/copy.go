package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// channelID is the form of what a card may be shown in, besides its thread.
var channelID = regexp.MustCompile(`^[CG][A-Z0-9]{2,}$`)

// Place is where a card is shown outside of its thread: a channel that the bot is in, or
// the direct conversation with somebody.
func (a *Adapter) Place(ctx context.Context, place string) (chat.ThreadID, error) {
	kind, id, _ := strings.Cut(place, ":")
	direct := kind == "user" && layout.UserID.MatchString(id)
	if !direct && (kind != "channel" || !channelID.MatchString(id)) {
		return chat.ThreadID{}, chat.ErrElsewhere
	}
	err := a.signedIn(ctx)
	if err == nil && direct {
		id, err = a.openDirect(ctx, id)
	}
	return api.ThreadID(a.who().TeamID, id, ""), err
}

// tryChannels says whether the bot can write in the channels in which cards are to
// stand. It posts nothing, and so can't know what a workspace's own rules forbid.
func tryChannels(ctx context.Context, w *api.Client, ids []string) (found []string, failed error) {
	for _, id := range ids {
		if !channelID.MatchString(id) {
			continue // another platform's
		}
		var said struct {
			Channel struct {
				Name     string `json:"name"`
				Member   bool   `json:"is_member"`
				Archived bool   `json:"is_archived"`
			} `json:"channel"`
		}
		err := w.Call(ctx, api.Request{Method: "conversations.info", Args: url.Values{"channel": {id}}, Priority: outbox.Approval, Answer: &said})
		switch {
		case api.Code(err) == "channel_not_found":
			err = fmt.Errorf("approvals.notify: there is no channel %s that the bot sees: invite it there, or correct the id", id)
		case err != nil:
			err = fmt.Errorf("approvals.notify: look at channel %s: %w", id, err)
		case said.Channel.Archived:
			err = fmt.Errorf("approvals.notify: channel #%s (%s) is archived", chat.Flat(said.Channel.Name), id)
		case !said.Channel.Member:
			err = fmt.Errorf("approvals.notify: the bot is not in channel #%s (%s): invite it there", chat.Flat(said.Channel.Name), id)
		default:
			found = append(found, fmt.Sprintf("approvals also go to #%s, where the bot is a member; whether a rule of the workspace keeps it from writing there can't be asked", chat.Flat(said.Channel.Name)))
		}
		failed = errors.Join(failed, err)
	}
	return found, failed
}
