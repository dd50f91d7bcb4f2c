package people

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"
	"golang.org/x/sync/errgroup"

	"nod/adapters/discord/api"
	"nod/chat"
	"nod/chat/outbox"
)

// mostAside is how many members are looked up side by side.
const mostAside = 8

// Having says which people have a role of a guild now.
func (p *People) Having(ctx context.Context, guild, role string, who []chat.UserID) (in []chat.UserID, err error) {
	has := make([]bool, len(who))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(mostAside)
	for i, u := range who {
		g.Go(func() error {
			m, is, err := p.Member(ctx, guild, string(u), outbox.Approval)
			has[i] = is && (role == guild || slices.Contains(m.Roles, role)) // everybody has the role that is named as the guild
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

// Member looks a member of a guild up now; is says whether they are one.
func (p *People) Member(ctx context.Context, guild, who string, urgent outbox.Priority) (m api.Member, is bool, err error) {
	m, err = api.Get[api.Member](ctx, p.rest, urgent, "/guilds/{}/members/{}", guild, who)
	switch {
	case api.Code(err) == discordgo.ErrCodeUnknownMember || api.Code(err) == discordgo.ErrCodeUnknownUser:
		return m, false, nil
	case err != nil:
		return m, false, fmt.Errorf("look up a member: %w", err)
	}
	return m, true, nil
}

// Bounds of looking for who has a role: members of one answer, and answers. Of a
// server with more members it can't be told.
const (
	mostMembers     = 1000
	mostMemberPages = 10
)

// HaveRole lists people who have a role, up to so many
// (https://discord.com/developers/docs/resources/guild#list-guild-members).
func (p *People) HaveRole(ctx context.Context, guild, role string, most int) (who []chat.User, known bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(mostMembers)}}
	for range mostMemberPages {
		var page []api.Member
		err := p.rest.Call(ctx, api.Request{
			Method: "GET", Path: "/guilds/{}/members", IDs: []string{guild}, Query: query, Priority: outbox.Answer, Answer: &page,
		})
		if err != nil {
			return nil, false, fmt.Errorf("list members: %w", err)
		}
		for _, m := range page {
			if m.User != nil && slices.Contains(m.Roles, role) {
				who = append(who, api.UserOf(*m.User, &m))
			}
		}
		if len(who) >= most || len(page) < mostMembers {
			return who, true, nil
		}
		query.Set("after", page[len(page)-1].User.ID)
	}
	return who, len(who) > 0, nil
}
