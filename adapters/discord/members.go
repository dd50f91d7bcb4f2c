package discord

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/outbox"
)

// mostAside is how many members are looked up side by side.
const mostAside = 8

// Members says which people have a role now. Any other rule names nothing that Discord has,
// which tells roles by person.
func (a *Adapter) Members(ctx context.Context, thread chat.ThreadID, rule string, who []chat.UserID) (in []chat.UserID, err error) {
	id, ok := strings.CutPrefix(rule, "role:")
	p := api.PlaceOf(thread)
	if !ok || p.Direct() {
		return nil, nil
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return nil, fmt.Errorf("look up the guild: %w", err)
	}
	has := make([]bool, len(who))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(mostAside)
	for i, u := range who {
		g.Go(func() error {
			m, is, err := a.member(ctx, c.GuildID, string(u))
			has[i] = is && (id == c.GuildID || slices.Contains(m.Roles, id)) // everybody has the role that is named as the guild
			return err
		})
	}
	err = g.Wait()
	for i, u := range who {
		if has[i] && err == nil {
			in = append(in, u)
		}
	}
	return in, err
}

// member looks a member of a guild up now; is says whether they are one.
func (a *Adapter) member(ctx context.Context, guild, who string) (m api.Member, is bool, err error) {
	err = a.rest.Call(ctx, api.Request{
		Method: "GET", Path: "/guilds/{}/members/{}", IDs: []string{guild, who}, Priority: outbox.Approval, Answer: &m,
	})
	switch {
	case api.Code(err) == discordgo.ErrCodeUnknownMember || api.Code(err) == discordgo.ErrCodeUnknownUser:
		return m, false, nil
	case err != nil:
		return m, false, fmt.Errorf("look up a member: %w", err)
	}
	return m, true, nil
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
