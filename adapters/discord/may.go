package discord

import (
	"context"
	"slices"

	"github.com/bwmarrin/discordgo"

	"nod/chat/outbox"
)

// This file knows what the bot may do in a channel, so that it need not try: a
// thread that it may make but not write in would stay there, empty. What is known
// comes along with the guilds; after a change of the bot's roles it is asked for.

// standing is what the bot may do in a guild before any channel has its say, and
// which roles it has.
type standing struct {
	may   int64
	roles []string // the guild's id stands for @everyone
}

const everything = 1<<53 - 1

// effective is what may be done in a channel
// (https://discord.com/developers/docs/topics/permissions#permission-overwrites).
func (s standing) effective(guild, self string, overwrites []overwrite) int64 {
	if s.may&discordgo.PermissionAdministrator != 0 {
		return everything
	}
	may := s.may
	var allow, deny int64
	for _, o := range overwrites {
		switch {
		case o.ID == guild:
			may = may&^int64(o.Deny) | int64(o.Allow)
		case slices.Contains(s.roles, o.ID):
			allow, deny = allow|int64(o.Allow), deny|int64(o.Deny)
		}
	}
	may = may&^deny | allow
	for _, o := range overwrites {
		if o.ID == self {
			may = may&^int64(o.Deny) | int64(o.Allow)
		}
	}
	return may
}

// standingOf works out what roles allow together.
func standingOf(guild string, mine []string, roles []role) standing {
	s := standing{roles: append([]string{guild}, mine...)}
	for _, r := range roles {
		if slices.Contains(s.roles, r.ID) {
			s.may |= int64(r.May)
		}
	}
	return s
}

// unstand forgets what the bot may do in a guild, if it has the role that was
// changed.
func (t *atlas) unstand(guild, role string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.lands[snowflake(guild)]
	if g == nil || !g.stands || role != "" && !slices.Contains(g.standing.roles, role) {
		return
	}
	g.standing, g.stands = standing{}, false
	for _, id := range g.spots {
		s := t.spots[id]
		s.packed |= unknown
		t.spots[id] = s
	}
}

func (t *atlas) may(channel string) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.spots[snowflake(channel)]
	may, known := s.may()
	return may, ok && known
}

// stand notes what the bot may do in a guild, and so in a channel of it.
func (t *atlas) stand(s standing, c channel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.land(snowflake(c.GuildID))
	g.standing, g.stands = s, true
	t.place(c)
}

// may says what the bot may do in a channel of a guild, or in the threads of it.
// It asks Discord if it has to; known is false where that gives nothing, and then
// trying is the way to find out.
func (a *Adapter) may(ctx context.Context, channel string) (may int64, known bool) {
	if m, ok := a.atlas.may(channel); ok {
		return m, true
	}
	c, err := a.askChannel(ctx, channel)
	if err != nil || c.GuildID == "" {
		return 0, false
	}
	if m, ok := a.atlas.may(channel); ok {
		return m, true
	}
	self, err := a.me(ctx)
	if err != nil {
		return 0, false
	}
	var roles []role
	var me member
	ask := func(path string, into any, ids ...string) error {
		return a.rest.call(ctx, request{method: "GET", path: path, ids: ids, priority: outbox.Answer, answer: into})
	}
	if ask("/guilds/{}/roles", &roles, c.GuildID) != nil || ask("/guilds/{}/members/{}", &me, c.GuildID, self.ID) != nil {
		return 0, false
	}
	a.atlas.stand(standingOf(c.GuildID, me.Roles, roles), c)
	return a.atlas.may(channel)
}
