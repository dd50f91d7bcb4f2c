package discord

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"nod/chat"
	"nod/chat/outbox"
)

// openDirect opens the direct conversation with somebody
// (https://discord.com/developers/docs/resources/user#create-dm). Repeating it is
// harmless, and whether they take messages is known when one is posted.
func (a *Adapter) openDirect(ctx context.Context, who string) (string, error) {
	var said channel
	err := a.rest.call(ctx, request{
		method: "POST", path: "/users/@me/channels", body: map[string]string{"recipient_id": who}, priority: outbox.Approval, answer: &said,
	})
	if err == nil && said.ID == "" {
		err = errors.New("the answer names no channel")
	}
	if err != nil {
		return "", fmt.Errorf("open a direct conversation: %w", final(err))
	}
	return said.ID, nil
}

// Direct says whether a thread is a direct conversation.
func (a *Adapter) Direct(thread chat.ThreadID) bool { return placeOf(thread).direct() }

// Partner is the person with whom a thread is a direct conversation; "" where it is none,
// and in doubt.
func (a *Adapter) Partner(ctx context.Context, thread chat.ThreadID) chat.UserID {
	p := placeOf(thread)
	if !p.direct() {
		return ""
	}
	var said struct {
		Recipients []user `json:"recipients"`
	}
	err := a.rest.call(ctx, request{method: "GET", path: "/channels/{}", ids: []string{p.channel}, priority: outbox.Answer, answer: &said})
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
	case !plainID.MatchString(id):
		return nil, true, nil // another platform's
	case kind == "user":
		u, err := a.user(ctx, id)
		if refused(err) && !refusedToken(err) {
			return nil, true, nil // there is no such account
		}
		return []chat.User{u}, true, err
	case kind != "role" || placeOf(thread).direct(): // in a direct conversation nobody has one
		return nil, true, nil
	}
	c, err := a.channel(ctx, placeOf(thread).channel)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("look up the guild: %w", err)
	case id == c.GuildID: // which everybody has
		return nil, false, nil
	}
	who, known, err = a.haveRole(ctx, c.GuildID, id, most)
	if refused(err) && !refusedToken(err) {
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

// haveRole lists people who have a role, up to so many
// (https://discord.com/developers/docs/resources/guild#list-guild-members).
func (a *Adapter) haveRole(ctx context.Context, guild, role string, most int) (who []chat.User, known bool, err error) {
	query := url.Values{"limit": {strconv.Itoa(mostMembers)}}
	for range mostMemberPages {
		var page []member
		err := a.rest.call(ctx, request{
			method: "GET", path: "/guilds/{}/members", ids: []string{guild}, query: query, priority: outbox.Answer, answer: &page,
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
