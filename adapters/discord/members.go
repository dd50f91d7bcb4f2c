package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/chat"
	"nod/chat/outbox"
)

// Member says whether a person has a role now. Any other rule names nothing
// that Discord has.
func (a *Adapter) Member(ctx context.Context, thread chat.ThreadID, who chat.UserID, rule string) (bool, error) {
	id, ok := strings.CutPrefix(rule, "role:")
	p := placeOf(thread)
	if !ok || p.direct() {
		return false, nil
	}
	c, err := a.channel(ctx, p.channel)
	if err != nil {
		return false, fmt.Errorf("look up the guild: %w", err)
	}
	var m member
	err = a.rest.call(ctx, request{
		method: "GET", path: "/guilds/{}/members/{}", ids: []string{c.GuildID, string(who)}, priority: outbox.Approval, answer: &m,
	})
	if code(err) == discordgo.ErrCodeUnknownMember || code(err) == discordgo.ErrCodeUnknownUser {
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
	p := placeOf(thread)
	if rule == chat.Anyone {
		return !p.direct()
	}
	id, ok := strings.CutPrefix(rule, "role:")
	if !ok || p.direct() {
		return false
	}
	c, err := a.channel(ctx, p.channel)
	if err != nil {
		return true
	}
	_ = a.learn(ctx, c.GuildID) // in doubt it is possible
	has, known := a.atlas.hasRole(c.GuildID, id)
	return has || !known
}
