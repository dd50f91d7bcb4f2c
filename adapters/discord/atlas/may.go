package atlas

import (
	"context"
	"slices"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/chat/outbox"
)

// This file knows what the bot may do in a channel, so that it need not try: a
// thread that it may make but not write in would stay there, empty. What is known
// comes along with the guilds; after a change of the bot's roles it is asked for.

// Standing is what the bot may do in a guild before any channel has its say, and
// which roles it has.
type Standing struct {
	May   int64
	Roles []string // the guild's id stands for @everyone
}

// Everything is all permissions.
const Everything = 1<<53 - 1

// Effective is what may be done in a channel
// (https://discord.com/developers/docs/topics/permissions#permission-overwrites).
func (s Standing) Effective(guild, self string, overwrites []*api.Overwrite) int64 {
	if s.May&discordgo.PermissionAdministrator != 0 {
		return Everything
	}
	may := s.May
	var allow, deny int64
	for _, o := range overwrites {
		switch {
		case o.ID == guild:
			may = may&^o.Deny | o.Allow
		case slices.Contains(s.Roles, o.ID):
			allow, deny = allow|o.Allow, deny|o.Deny
		}
	}
	may = may&^deny | allow
	for _, o := range overwrites {
		if o.ID == self {
			may = may&^o.Deny | o.Allow
		}
	}
	return may
}

// StandingOf works out what roles allow together.
func StandingOf(guild string, mine []string, roles []api.Role) Standing {
	s := Standing{Roles: append([]string{guild}, mine...)}
	for _, r := range roles {
		if slices.Contains(s.Roles, r.ID) {
			s.May |= r.May
		}
	}
	return s
}

// unstand forgets what the bot may do in a guild, if it has the role that was
// changed.
func (t *Atlas) unstand(guild, role string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := api.Snowflake(guild)
	g := t.lands[id]
	if g == nil || g.standing == nil || role != "" && !slices.Contains(g.standing.Roles, role) {
		return
	}
	g.standing = nil
	for at, s := range t.spots {
		if s.guild == id {
			s.known = false
			t.spots[at] = s
		}
	}
}

// KnownMay is as May, without asking Discord.
func (t *Atlas) KnownMay(channel string) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.spots[api.Snowflake(channel)]
	return s.may, s.known
}

// stand notes what the bot may do in a guild, and so in a channel of it.
func (t *Atlas) stand(s Standing, c api.Channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.land(api.Snowflake(c.GuildID)).standing = &s
	t.place(c)
}

// May says what the bot may do in a channel of a guild, or in the threads of it.
// It asks Discord if it has to; known is false where that gives nothing, and then
// trying is the way to find out.
func (t *Atlas) May(ctx context.Context, channel string) (may int64, known bool) {
	if m, ok := t.KnownMay(channel); ok {
		return m, true
	}
	c, err := t.AskChannel(ctx, channel)
	if err != nil || c.GuildID == "" {
		return 0, false
	}
	if m, ok := t.KnownMay(channel); ok {
		return m, true
	}
	roles, err := api.Get[[]api.Role](ctx, t.rest, outbox.Answer, "/guilds/{}/roles", c.GuildID)
	if err != nil {
		return 0, false
	}
	self, err := t.me(ctx)
	if err != nil {
		return 0, false
	}
	me, err := api.Get[api.Member](ctx, t.rest, outbox.Answer, "/guilds/{}/members/{}", c.GuildID, self.ID)
	if err != nil {
		return 0, false
	}
	t.stand(StandingOf(c.GuildID, me.Roles, roles), c)
	return t.KnownMay(channel)
}
