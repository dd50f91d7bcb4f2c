package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/layout"
	"nod/chat"
	"nod/chat/outbox"
)

// openDirect opens the direct conversation with somebody
// (https://discord.com/developers/docs/resources/user#create-dm). Repeating it is
// harmless, and whether they take messages is known when one is posted.
func (a *Adapter) openDirect(ctx context.Context, who string) (string, error) {
	var said api.Channel
	err := a.rest.Call(ctx, api.Request{
		Method: "POST", Path: "/users/@me/channels", Body: map[string]string{"recipient_id": who}, Priority: outbox.Approval, Answer: &said,
	})
	if err == nil && said.ID == "" {
		err = errors.New("the answer names no channel")
	}
	if err != nil {
		return "", fmt.Errorf("open a direct conversation: %w", api.Final(err))
	}
	return said.ID, nil
}

// Direct says whether a thread is a direct conversation.
func (a *Adapter) Direct(thread chat.ThreadID) bool { return api.PlaceOf(thread).Direct() }

// Partner is the person with whom a thread is a direct conversation; "" where it is none,
// and in doubt.
func (a *Adapter) Partner(ctx context.Context, thread chat.ThreadID) chat.UserID {
	p := api.PlaceOf(thread)
	if !p.Direct() {
		return ""
	}
	var said struct {
		Recipients []api.User `json:"recipients"`
	}
	err := a.rest.Call(ctx, api.Request{Method: "GET", Path: "/channels/{}", IDs: []string{p.Channel}, Priority: outbox.Answer, Answer: &said})
	if err != nil || len(said.Recipients) != 1 {
		return ""
	}
	return chat.UserID(said.Recipients[0].ID)
}

// People lists whom a rule means; known is false for a role whose members Discord does
// not show, which takes the Server Members Intent.
func (a *Adapter) People(ctx context.Context, thread chat.ThreadID, rule string, most int) (who []chat.User, known bool, err error) {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case !api.PlainID.MatchString(id):
		return nil, true, nil // another platform's
	case kind == "user":
		u, err := a.user(ctx, id)
		if api.Refused(err) && !api.RefusedToken(err) {
			return nil, true, nil // there is no such account
		}
		return []chat.User{u}, true, err
	case kind != "role" || api.PlaceOf(thread).Direct(): // in a direct conversation nobody has one
		return nil, true, nil
	}
	c, err := a.atlas.Channel(ctx, api.PlaceOf(thread).Channel)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("look up the guild: %w", err)
	case id == c.GuildID: // which everybody has
		return nil, false, nil
	}
	who, known, err = a.haveRole(ctx, c.GuildID, id, most)
	if api.Refused(err) && !api.RefusedToken(err) {
		a.log.Warn("list who may decide", "error", err)
		return nil, false, nil
	}
	return who, known, err
}

// Bounds of looking for who has a role: members of one answer, and answers. Of a
// server with more members it can't be told.
const (
	mostMembers     = 1000
	mostMemberPages = 10
)

// excluded are those who may not decide.
func excluded(p chat.Post) []chat.User {
	switch {
	case p.Approval != nil:
		return p.Approval.Exclude
	case p.Text != nil && p.Text.Summons != nil:
		return p.Text.Summons.Exclude
	}
	return nil
}

// MostRung is how many members of a role are named one by one.
const MostRung = 20

// ring lets a message ring with those who may decide. Where a role does not ring, its
// members are named one by one, or the message says that nobody hears it.
func (a *Adapter) ring(ctx context.Context, thread chat.ThreadID, exclude []chat.User, p *layout.Part) {
	roles, channel := p.Pings.Roles, api.PlaceOf(thread).Channel
	if len(roles) == 0 {
		return
	}
	may, known := a.atlas.May(ctx, channel)
	c, err := a.atlas.Channel(ctx, channel)
	if !known || may&discordgo.PermissionMentionEveryone != 0 || err != nil || a.atlas.Learn(ctx, c.GuildID) != nil {
		return
	}
	p.Pings.Roles = nil
	for _, id := range roles {
		if a.atlas.Rings(c.GuildID, id) {
			p.Pings.Roles = append(p.Pings.Roles, id)
			continue
		}
		who, all, err := a.haveRole(ctx, c.GuildID, id, MostRung+1)
		if err != nil || !all || len(who) > MostRung {
			p.Add("<@&" + id + "> rings with nobody: the role is not mentionable, and I may not mention it.")
			continue
		}
		var named []string
		for _, u := range who {
			if !u.Bot && !chat.Includes(exclude, u.ID) {
				p.Pings.Users = append(p.Pings.Users, string(u.ID))
				named = append(named, "<@"+string(u.ID)+">")
			}
		}
		p.Add(strings.Join(named, " "))
	}
}

// haveRole lists people who have a role, up to so many
// (https://discord.com/developers/docs/resources/guild#list-guild-members).
func (a *Adapter) haveRole(ctx context.Context, guild, role string, most int) (who []chat.User, known bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(mostMembers)}}
	for range mostMemberPages {
		var page []api.Member
		err := a.rest.Call(ctx, api.Request{
			Method: "GET", Path: "/guilds/{}/members", IDs: []string{guild}, Query: query, Priority: outbox.Answer, Answer: &page,
		})
		if err != nil {
			return nil, false, fmt.Errorf("list members: %w", err)
		}
		for _, m := range page {
			if m.User != nil && slices.Contains(m.Roles, role) {
				who = append(who, userOf(*m.User, &m))
			}
		}
		if len(who) >= most || len(page) < mostMembers {
			return who, true, nil
		}
		query.Set("after", page[len(page)-1].User.ID)
	}
	return who, len(who) > 0, nil
}
