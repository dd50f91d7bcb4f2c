package slack

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// account is what users.info tells of somebody, as far as it matters.
type account struct {
	Name       string `json:"name"`
	Real       string `json:"real_name"`
	Team       string `json:"team_id"`
	Bot        bool   `json:"is_bot"`
	Zone       string `json:"tz"`
	Deleted    bool   `json:"deleted"`
	Stranger   bool   `json:"is_stranger"`
	Guest      bool   `json:"is_restricted"`
	OneChannel bool   `json:"is_ultra_restricted"`
	Profile    struct {
		Display string `json:"display_name"`
	} `json:"profile"`
	Enterprise struct {
		ID string `json:"enterprise_id"`
	} `json:"enterprise_user"`
}

// kind is where an account belongs.
type kind string

const (
	unknownAccount kind = "" // Slack does not know it, does not show it, or no longer
	ownAccount     kind = "own"
	guestAccount   kind = "guest"
	otherAccount   kind = "other"
)

// kinds are the words of cards for who is no colleague.
var kinds = map[kind]string{guestAccount: "guest", otherAccount: "other organisation"}

// kindOf judges an account. Colleagues of other workspaces of the same
// Enterprise Grid organisation are colleagues.
func kindOf(w api.Whoami, u account) kind {
	ours := u.Team == w.TeamID || w.Enterprise != "" && u.Enterprise.ID == w.Enterprise
	switch {
	case u.Deleted || u.Team == "" && !ours:
		return unknownAccount
	case u.Stranger || !ours:
		return otherAccount
	case u.Guest || u.OneChannel:
		return guestAccount
	}
	return ownAccount
}

// trust says whether an account of a kind is heard, and why it may not decide.
func (o Options) trust(k kind) (heard bool, barred string) {
	word, who := trustAllow, ""
	switch k {
	case unknownAccount:
		return false, "Slack does not know this account, or no longer"
	case otherAccount:
		word, who = o.External, "people of other organisations may not decide here"
	case guestAccount:
		word, who = o.Guests, "guests may not decide here"
	case ownAccount:
	}
	if word == trustAllow {
		return true, ""
	}
	return word == trustAsk, who
}

// hears says whether the bot listens to somebody in a channel. The error says
// that this could not be found out; then it must not.
func (a *Adapter) hears(ctx context.Context, id, channel string) (heard bool, u chat.User, err error) {
	u, k, err := a.person(ctx, id)
	if err != nil {
		return false, u, fmt.Errorf("look up who it is: %w", err)
	}
	u.Kind = kinds[k]
	if heard, u.Barred = a.o.trust(k); !heard {
		return false, u, nil
	}
	heard, err = a.allowed(ctx, id, channel)
	if err == nil && !heard {
		u.Barred = "only those whom slack.allow names may decide here"
	}
	return heard, u, err
}

// allowed says whether one of the rules of Options.Allow names somebody.
func (a *Adapter) allowed(ctx context.Context, id, channel string) (bool, error) {
	return front.Allowed(a.o.Allow, id, []string{channel}, func(rule string) (bool, error) {
		users, err := a.lately(ctx, strings.TrimPrefix(rule, "group:"))
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
