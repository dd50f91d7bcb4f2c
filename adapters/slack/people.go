package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"nod/adapters/slack/api"
	"nod/chat"
	"nod/front"
)

// In a channel that is shared with another organisation (Slack Connect) its
// members write to the bot and react like colleagues, and so do guests. This
// file says who is heard, and who may not decide, whatever the rules of an
// approval say. What is not known of an account counts against it.

// The values of Options.External and Options.Guests.
const (
	trustIgnore = "ignore" // they are not heard
	trustAsk    = "ask"    // they may ask, and never approve
	trustAllow  = "allow"  // they are like everybody else
)

// judge says who an account is of, whether they are heard, and why they may not decide.
// Colleagues of other workspaces of the same Enterprise Grid organisation are colleagues.
func (a *Adapter) judge(u slackgo.User) named {
	w := a.who()
	ours := w.TeamID != "" && u.TeamID == w.TeamID || w.EnterpriseID != "" && u.Enterprise.EnterpriseID == w.EnterpriseID
	k := named{User: chat.User{Name: chat.Flat(chat.FirstOf(u.Profile.DisplayName, u.RealName, u.Name)), Bot: u.IsBot}, zone: u.TZ}
	word, why := trustAllow, ""
	switch {
	case u.Deleted || u.TeamID == "" && !ours: // Slack does not show it
		word, why = trustIgnore, "Slack does not know this account, or no longer"
	case u.IsStranger || !ours:
		k.Kind, word, why = "other organisation", a.o.External, "people of other organisations may not decide here"
	case u.IsRestricted || u.IsUltraRestricted:
		k.Kind, word, why = "guest", a.o.Guests, "guests may not decide here"
	}
	if k.heard = word == trustAsk || word == trustAllow; word != trustAllow {
		k.Barred = why
	}
	return k
}

// hears says whether the bot listens to somebody in a channel. The error says
// that this could not be found out; then it must not.
func (a *Adapter) hears(ctx context.Context, id, channel string) (heard bool, u chat.User, err error) {
	k, err := a.user(ctx, id)
	if err != nil {
		return false, k.User, fmt.Errorf("look up who it is: %w", err)
	}
	if !k.heard {
		return false, k.User, nil
	}
	heard, err = a.allowed(ctx, id, channel)
	if err == nil && !heard {
		k.Barred = "only those whom slack.allow names may decide here"
	}
	return heard, k.User, err
}

// allowed says whether one of the rules of Options.Allow names somebody.
func (a *Adapter) allowed(ctx context.Context, id, channel string) (bool, error) {
	return front.Allowed(a.o.Allow, id, []string{channel}, func(rule string) (bool, error) {
		users, err := a.members(ctx, strings.TrimPrefix(rule, "group:"))
		return slices.Contains(users, id), err
	})
}

// Who looks somebody up now: an account that was deactivated a moment ago decides nothing.
func (a *Adapter) Who(ctx context.Context, channel string, u chat.User) (chat.User, error) {
	if err := a.signedIn(ctx); err != nil {
		return u, err
	}
	u, heard, err := a.speaker(ctx, string(u.ID), api.ChannelOf(channel))
	u.Unheard = !heard
	if err == nil && !heard && u.Barred == "" {
		u.Barred = "you are not heard here"
	}
	return u, api.Gone(err)
}

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

// members lists who was in a group a moment ago, for deciding who is heard: every message
// asks. Votes don't use it.
func (a *Adapter) members(ctx context.Context, id string) ([]string, error) {
	return a.groups.look(ctx, id, func(ctx context.Context) ([]string, time.Duration, error) {
		users, err := a.web.Members(ctx, id)
		return users, groupStays, err
	})
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
	users, err := a.members(ctx, group)
	if err == nil && !possible(users) { // somebody may just have come
		users, err = a.web.Members(ctx, group)
	}
	if err != nil {
		return api.Code(err) != api.NoGroup
	}
	return possible(users)
}
