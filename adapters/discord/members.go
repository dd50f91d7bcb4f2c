package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/outbox"
)

// Member says whether a person has a role now. Any other rule names nothing
// that Discord has.
func (a *Adapter) Member(ctx context.Context, thread chat.ThreadID, who chat.UserID, rule string) (bool, error) {
	id, ok := strings.CutPrefix(rule, "role:")
	p := api.PlaceOf(thread)
	if !ok || p.Direct() {
		return false, nil
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return false, fmt.Errorf("look up the guild: %w", err)
	}
	var m api.Member
	err = a.rest.Call(ctx, api.Request{
		Method: "GET", Path: "/guilds/{}/members/{}", IDs: []string{c.GuildID, string(who)}, Priority: outbox.Approval, Answer: &m,
	})
	if api.Code(err) == discordgo.ErrCodeUnknownMember || api.Code(err) == discordgo.ErrCodeUnknownUser {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up a member: %w", err)
	}
	return id == c.GuildID || slices.Contains(m.Roles, id), nil // everybody has the role that is named as the guild
}

// Possible says whether anybody in the thread could have a role: nobody in a
// direct conversation. In doubt it says yes.
func (a *Adapter) Possible(ctx context.Context, thread chat.ThreadID, rule string) bool {
	p := api.PlaceOf(thread)
	if rule == chat.Anyone {
		return !p.Direct()
	}
	id, ok := strings.CutPrefix(rule, "role:")
	if !ok || p.Direct() {
		return false
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return true
	}
	_ = a.atlas.Learn(ctx, c.GuildID) // in doubt it is possible
	has, known := a.atlas.HasRole(c.GuildID, id)
	return has || !known
}
