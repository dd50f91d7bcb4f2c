package discord

import (
	"context"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat"
)

// copyButton is the kind of a vote's button on a card outside of its thread: no form
// opens behind it, since it is not known there which thread a reason is for.
const copyButton = "copy"

// Place is where a card is shown outside of its thread: a channel that the bot may write
// in, or the direct conversation with somebody.
func (a *Adapter) Place(ctx context.Context, at string) (chat.ThreadID, error) {
	kind, id, _ := strings.Cut(at, ":")
	switch {
	case kind != "channel" && kind != "user" || !api.PlainID.MatchString(id):
		return chat.ThreadID{}, chat.ErrElsewhere
	case kind == "user":
		id, err := a.openDirect(ctx, id)
		return api.ThreadID(api.Place{Channel: id}), err
	}
	c, err := a.atlas.Channel(ctx, id)
	if err == nil && c.Thread() {
		return api.ThreadID(api.Place{Channel: c.ParentID, Thread: c.ID}), nil
	}
	return api.ThreadID(api.Place{Channel: id}), api.Final(err)
}

// refIn names a message of the bot's as a reaction on it does: a card in a channel of
// a server stands where a conversation of its own would begin, and one in a thread or a
// direct conversation is of that.
func refIn(thread chat.ThreadID, p *chat.Approval, id string) chat.MessageRef {
	at := api.PlaceOf(thread)
	if p != nil && p.Home != (chat.ThreadID{}) && !p.Direct && at.Direct() {
		at.Thread = id
	}
	return api.RefOf(at, id)
}
