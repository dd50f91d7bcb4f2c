package slack

import (
	"context"
	"slices"
	"strings"
	"time"

	"nod/adapters/slack/api"
	"nod/chat"
)

// Members says which people are in a user group now. Any other rule names nothing that
// Slack has.
func (a *Adapter) Members(ctx context.Context, _ chat.ThreadID, rule string, who []chat.UserID) ([]chat.UserID, error) {
	id, ok := strings.CutPrefix(rule, "group:")
	if !ok {
		return nil, nil
	}
	users, err := a.web.Members(ctx, id)
	return slices.DeleteFunc(slices.Clone(who), func(u chat.UserID) bool { return !slices.Contains(users, string(u)) }), err
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
	users, err := a.web.Members(ctx, id)
	if err == nil {
		a.groups.Put(id, group{users, a.o.Now().Add(groupStays)})
	}
	return users, err
}

// Possible says whether anybody in the thread could be in a group: in a direct
// conversation only the person there, and nobody in a group that is empty or disabled. In
// doubt it says yes.
func (a *Adapter) Possible(ctx context.Context, thread chat.ThreadID, rule string) bool {
	channel := api.ChannelOf(thread.Channel)
	if rule == chat.Anyone {
		return !api.IsDM(channel)
	}
	group, ok := strings.CutPrefix(rule, "group:")
	if !ok {
		return false
	}
	user := a.Partner(ctx, thread)
	possible := func(users []string) bool {
		return len(users) > 0 && (user == "" || slices.Contains(users, string(user)))
	}
	users, err := a.lately(ctx, group)
	if err == nil && !possible(users) { // somebody may just have come
		users, err = a.web.Members(ctx, group)
	}
	if err != nil {
		return api.Code(err) != api.NoGroup
	}
	return possible(users)
}
