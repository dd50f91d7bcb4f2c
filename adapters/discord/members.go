package discord

import (
	"context"
	"fmt"
	"strings"

	"nod/adapters/discord/api"
	"nod/chat"
)

// Members says which people have a role now. Any other rule names nothing that Discord has,
// which tells roles by person.
func (a *Adapter) Members(ctx context.Context, thread chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error) {
	id, ok := strings.CutPrefix(rule, "role:")
	p := api.PlaceOf(thread)
	if !ok || p.Direct() {
		return nil, nil
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return nil, fmt.Errorf("look up the guild: %w", err)
	}
	return a.people.Having(ctx, c.GuildID, id, who)
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
