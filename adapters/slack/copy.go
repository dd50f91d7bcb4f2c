package slack

import (
	"context"
	"regexp"
	"strings"

	"nod/adapters/slack/api"
	"nod/adapters/slack/layout"
	"nod/chat"
)

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
