// Package setup says how a Discord app has to be set up, and whether it is.
package setup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord"
	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
	"nod/adapters/discord/gateway"
	"nod/chat"
	"nod/chat/outbox"
	"nod/chat/summary"
	"nod/front"
)

// Check tries the token without changing anything, and says what it found: the
// bot's name, intents, permissions in each guild. The error names what is
// missing, and rules that name nobody there.
func Check(ctx context.Context, o discord.Options, rules []string) ([]string, error) {
	w := api.New(o.Client())
	ask := func(path string, into any) error {
		return w.Call(ctx, api.Request{Method: "GET", Path: path, Priority: outbox.Approval, Answer: into})
	}
	var me api.User
	if err := ask("/users/@me", &me); err != nil {
		if api.RefusedToken(err) {
			err = errors.New("discord refuses it: copy the token again (Developer Portal, Bot, Reset Token)")
		}
		return nil, fmt.Errorf("try discord.token: %w", err)
	}
	found := []string{fmt.Sprintf("bot %s (%s)", me.Username, me.ID)}
	var info gateway.Start
	if err := ask("/gateway/bot", &info); err != nil {
		return found, fmt.Errorf("ask for the gateway: %w", err)
	}
	found = append(found, fmt.Sprintf("%s recommended, %s left today", summary.Count(info.Shards, "shard"), summary.Count(info.SessionStartLimit.Remaining, "new session")))
	notes, err := checkApplication(o, ask)
	found = append(found, notes...)
	roles := seen{ids: map[string]bool{}}
	servers, failed := checkGuilds(ask, me.ID, o.Roles, &roles)
	places, closed := checkPlaces(ask, me.ID, o.Channels)
	err = errors.Join(err, failed, closed)
	for _, rule := range slices.Compact(slices.Sorted(slices.Values(rules))) {
		err = errors.Join(err, look(ask, rule), roles.look(rule))
	}
	return append(append(found, servers...), places...), err
}

// seen are the roles of the servers that were looked at.
type seen struct {
	ids  map[string]bool
	some bool // there are other servers
}

// look says that a role is nowhere, where that is known.
func (s seen) look(rule string) error {
	id, role := strings.CutPrefix(rule, "role:")
	if !role || s.some || len(s.ids) == 0 || s.ids[id] || strings.Trim(id, "0123456789") != "" {
		return nil
	}
	return fmt.Errorf("%s: no server of the bot has a role with this id: correct it, or invite the bot there", rule)
}

// look looks up whom or which place a rule means. Another platform's is nobody here. The bot
// of an alert may be a webhook, which nobody can look up.
func look(ask func(string, any) error, rule string) error {
	kind, id, _ := strings.Cut(rule, ":")
	path := map[string]string{"user": "/users/", "channel": "/channels/"}[kind]
	if path == "" || id == "" || strings.Trim(id, "0123456789") != "" {
		return nil
	}
	var said struct{}
	switch err := ask(path+url.PathEscape(id), &said); api.Code(err) {
	case discordgo.ErrCodeUnknownUser, discordgo.ErrCodeUnknownChannel, discordgo.ErrCodeMissingAccess:
		return fmt.Errorf("%s: the bot sees none with this id: correct it, or invite the bot there", rule)
	}
	return nil
}

// checkApplication says whether the application is set up as the configuration
// needs it.
func checkApplication(o discord.Options, ask func(string, any) error) ([]string, error) {
	var app api.Application
	if err := ask("/applications/@me", &app); err != nil {
		return nil, fmt.Errorf("ask for the application: %w", err)
	}
	note, err := checkIntents(o, app)
	var found []string
	if note != "" {
		found = append(found, note)
	}
	if len(o.Guilds) == 0 && (app.Public == nil || *app.Public) {
		found = append(found, "anybody may invite the bot: it serves the servers of its owner and team only; write others into discord.guilds, or switch Public Bot off (Developer Portal, Bot)")
	}
	return found, err
}

// checkIntents says whether the intents that the configuration needs are
// switched on.
func checkIntents(o discord.Options, app api.Application) (string, error) {
	if app.Endpoint != "" {
		return "", errors.New("the application has an Interactions Endpoint URL, so commands and buttons don't reach the bot: empty it (Developer Portal, General Information)")
	}
	if o.Direct && len(o.Roles) > 0 && app.Flags&api.GuildMembers == 0 {
		return "", errors.New("approvals.notify: dm finds out who has a role by the Server Members Intent only: switch it on (Developer Portal, Bot), or name approvers as user:ID")
	}
	switch on := app.Flags&api.MessageContent != 0; {
	case (o.Follow == front.FollowThread || o.Follow == front.FollowCallers) && !on:
		return "", fmt.Errorf("discord.follow: %s needs the Message Content Intent: switch it on (Developer Portal, Bot), or set auto", o.Follow)
	case o.Reads && !on:
		return "", errors.New("an alert of a bot needs the Message Content Intent: switch it on (Developer Portal, Bot), or have the alert come by a POST")
	case (o.Reads || o.Follow != front.FollowMentions && o.Follow != "") && on:
		return "the Message Content Intent is switched on", nil
	}
	return "without the Message Content Intent the bot hears mentions and direct messages only: in threads each message to it needs a mention, `stop` too (/stop and 🛑 work)", nil
}

// mostLooked is in how many servers each channel is looked at: that takes three
// calls for a server.
const mostLooked = 25

// checkGuilds says where the bot lacks a permission: everywhere in a server, or in
// a channel of it.
func checkGuilds(ask func(string, any) error, self string, deciding []string, known *seen) ([]string, error) {
	guilds, err := api.Guilds(ask)
	if err != nil {
		return nil, fmt.Errorf("list guilds: %w", err)
	}
	var found []string
	var failed error
	for i, g := range guilds {
		lack := lacks(g.May)
		if len(lack) > 0 {
			known.some = true
			failed = errors.Join(failed, fmt.Errorf("server %s: the bot lacks %s; invite it again (bot manifest discord), or change its role", g.Name, strings.Join(lack, ", ")))
			continue
		}
		notes := []string(nil)
		if known.some = known.some || i >= mostLooked; i < mostLooked {
			if notes, err = checkChannels(ask, g, self, deciding, known); err != nil {
				known.some = true
				failed = errors.Join(failed, fmt.Errorf("server %s: look at its channels: %w", g.Name, err))
			}
		}
		if len(notes) == 0 {
			found = append(found, fmt.Sprintf("server %s: all permissions are there", g.Name))
		}
		found = append(found, notes...)
	}
	switch {
	case len(guilds) == 0:
		found = append(found, "no server yet: invite the bot (bot manifest discord)")
	case len(guilds) > mostLooked:
		found = append(found, fmt.Sprintf("%d servers; only of the first %d was each channel looked at", len(guilds), mostLooked))
	}
	return found, failed
}

// lacks names what the bot needs and may not do.
func lacks(may int64) []string {
	var missing []string
	for _, n := range needs {
		if may&(n.bit|discordgo.PermissionAdministrator) == 0 {
			missing = append(missing, n.name)
		}
	}
	return missing
}

// silent names the roles of approvers that the bot does not ring with.
func silent(g api.Guild, may int64, roles []api.Role, deciding []string) (out []string) {
	for _, r := range roles {
		if slices.Contains(deciding, r.ID) && !r.Open && may&(discordgo.PermissionMentionEveryone|discordgo.PermissionAdministrator) == 0 {
			out = append(out, fmt.Sprintf("server %s: the role %s does not ring: make it mentionable, or give the bot Mention @everyone, @here and All Roles; else up to %d members are named one by one", g.Name, chat.Flat(r.Name), discord.MostRung))
		}
	}
	return out
}

// checkChannels says in which channels a server takes permissions back. One that
// the bot can't see at all is nobody's mistake.
func checkChannels(ask func(string, any) error, g api.Guild, self string, deciding []string, known *seen) ([]string, error) {
	var channels []api.Channel
	err := ask("/guilds/"+url.PathEscape(g.ID)+"/channels", &channels)
	stands, roles, failed := standing(ask, g.ID, self)
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	for _, r := range roles {
		known.ids[r.ID] = true
	}
	out := silent(g, stands.May, roles, deciding)
	for _, c := range channels {
		may := stands.Effective(g.ID, self, c.PermissionOverwrites)
		lack := lacks(may)
		if may&discordgo.PermissionViewChannel == 0 || len(lack) == 0 || c.Type == discordgo.ChannelTypeGuildCategory {
			continue
		}
		out = append(out, fmt.Sprintf("server %s: in #%s the bot lacks %s", g.Name, chat.Flat(c.Name), strings.Join(lack, ", ")))
	}
	return out, nil
}

// standing is what the bot may do in a server, and the roles there.
func standing(ask func(string, any) error, guild, self string) (atlas.Standing, []api.Role, error) {
	var roles []api.Role
	var me api.Member
	at := "/guilds/" + url.PathEscape(guild)
	err := errors.Join(ask(at+"/roles", &roles), ask(at+"/members/"+url.PathEscape(self), &me))
	return atlas.StandingOf(guild, me.Roles, roles), roles, err
}

// checkPlaces says whether the bot can write in the channels in which cards are to
// stand. It posts nothing, and so can't know what a server's AutoMod would block.
func checkPlaces(ask func(string, any) error, self string, ids []string) (found []string, failed error) {
	for _, id := range ids {
		if !api.PlainID.MatchString(id) || strings.Trim(id, "0123456789") != "" {
			continue // another platform's
		}
		note, err := checkPlace(ask, self, id)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("approvals.notify: channel %s: %w", id, err))
			continue
		}
		found = append(found, note)
	}
	return found, failed
}

func checkPlace(ask func(string, any) error, self, id string) (string, error) {
	var c api.Channel
	if err := ask("/channels/"+url.PathEscape(id), &c); err != nil {
		return "", fmt.Errorf("the bot does not see it (invite it, or correct the id): %w", err)
	}
	if c.GuildID == "" {
		return "", errors.New("it is no channel of a server")
	}
	stands, _, err := standing(ask, c.GuildID, self)
	if err != nil {
		return "", err
	}
	may := stands.Effective(c.GuildID, self, c.PermissionOverwrites)
	if lack := lacks(may); len(lack) > 0 {
		return "", fmt.Errorf("the bot lacks %s there", strings.Join(lack, ", "))
	}
	return fmt.Sprintf("approvals also go to #%s, where the bot may write; whether AutoMod lets a card through can't be asked", chat.Flat(c.Name)), nil
}
