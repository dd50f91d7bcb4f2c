package slack

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/chat/outbox"
)

// Members says which people are in a user group now. Any other rule names nothing that
// Slack has.
func (a *Adapter) Members(ctx context.Context, _ chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error) {
	id, ok := strings.CutPrefix(rule, "group:")
	if !ok {
		return nil, nil
	}
	users, err := a.members(ctx, id)
	return slices.DeleteFunc(slices.Clone(who), func(u chat.UserID) bool { return !slices.Contains(users, string(u)) }), err
}

func (a *Adapter) members(ctx context.Context, group string) ([]string, error) {
	var said struct {
		Users []string `json:"users"`
	}
	err := a.web.Call(ctx, api.Request{
		Method: "usergroups.users.list", Args: url.Values{"usergroup": {group}}, Priority: outbox.Approval, Answer: &said,
	})
	if err != nil {
		return nil, fmt.Errorf("list a user group: %w", err)
	}
	return said.Users, nil
}

// group is who was in a group a moment ago.
type group struct {
	users []string
	until time.Time
}

const groupStays = time.Minute

// lately lists who is in a group, for deciding who is heard: every message asks.
// Votes don't use it.
func (a *Adapter) lately(ctx context.Context, id string) ([]string, error) {
	if had, ok := a.groups.Get(id); ok && a.o.Now().Before(had.until) {
		return had.users, nil
	}
	users, err := a.members(ctx, id)
	if err == nil {
		a.groups.Put(id, group{users, a.o.Now().Add(groupStays)})
	}
	return users, err
}

// Possible says whether anybody in the thread could be in a group: in a direct
// conversation only the person there. In doubt it says yes.
func (a *Adapter) Possible(ctx context.Context, thread chat.ThreadID, rule string) bool {
	channel := api.ChannelOf(thread.Channel)
	if rule == chat.Anyone {
		return !api.IsDM(channel)
	}
	group, ok := strings.CutPrefix(rule, "group:")
	if !ok {
		return false
	}
	if !api.IsDM(channel) {
		return true
	}
	user := a.Partner(ctx, thread)
	if user == "" {
		return true
	}
	users, err := a.members(ctx, group)
	return err != nil || slices.Contains(users, string(user))
}
