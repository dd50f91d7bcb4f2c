package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
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

// checkPlaces says whether the bot can write in the channels in which cards are to
// stand. It posts nothing, and so can't know what a server's AutoMod would block.
func checkPlaces(ask func(string, any) error, self string, ids []string) (found []string, failed error) {
	for _, id := range ids {
		if !api.PlainID.MatchString(id) || strings.Trim(id, "0123456789") != "" {
			continue // another platform's
		}
		note, err := checkPlace(ask, self, id)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("approvals.notify: channel %s: %w", id, err))
			continue
		}
		found = append(found, note)
	}
	return found, failed
}

func checkPlace(ask func(string, any) error, self, id string) (string, error) {
	var c api.Channel
	if err := ask("/channels/"+url.PathEscape(id), &c); err != nil {
		return "", fmt.Errorf("the bot does not see it (invite it, or correct the id): %w", err)
	}
	if c.GuildID == "" {
		return "", errors.New("it is no channel of a server")
	}
	var roles []api.Role
	var me api.Member
	if err := errors.Join(ask("/guilds/"+url.PathEscape(c.GuildID)+"/roles", &roles), ask("/guilds/"+url.PathEscape(c.GuildID)+"/members/"+url.PathEscape(self), &me)); err != nil {
		return "", err
	}
	may := atlas.StandingOf(c.GuildID, me.Roles, roles).Effective(c.GuildID, self, c.Overwrites)
	if lack := lacks(may); len(lack) > 0 {
		return "", fmt.Errorf("the bot lacks %s there", strings.Join(lack, ", "))
	}
	return fmt.Sprintf("approvals also go to #%s, where the bot may write; whether AutoMod lets a card through can't be asked", chat.Flat(c.Name)), nil
}
