package people

import (
	"context"
	"fmt"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
	"nod/chat/outbox"
)

// Sight is which conversations one person sees; in doubt none. Each guild and each
// channel is looked up once.
type Sight struct {
	p      *People
	who    string
	from   api.Place // where they ask: a direct conversation is seen from within
	guilds map[string]atlas.Standing
	sees   map[string]bool // by channel or private thread
}

// Sight is what somebody sees who asks in a place.
func (p *People) Sight(who string, from api.Place) *Sight {
	return &Sight{p: p, who: who, from: from, guilds: map[string]atlas.Standing{}, sees: map[string]bool{}}
}

// Of says whether they see a conversation.
func (s *Sight) Of(ctx context.Context, p api.Place) bool {
	if p.Direct() {
		return p == s.from
	}
	if !s.cached(p.Channel, func() (bool, error) { return s.channel(ctx, p.Channel) }) {
		return false
	}
	return s.cached(p.Thread, func() (bool, error) { return s.thread(ctx, p.Thread) })
}

func (s *Sight) cached(id string, look func() (bool, error)) bool {
	known, ok := s.sees[id]
	if !ok {
		var err error
		if known, err = look(); err != nil {
			s.p.o.Logger.Warn("find out what somebody sees", "channel", id, "error", err)
			known = false
		}
		s.sees[id] = known
	}
	return known
}

// channel says whether the person sees a channel of a guild, and is heard there.
func (s *Sight) channel(ctx context.Context, id string) (bool, error) {
	c, err := s.p.atlas.AskChannel(ctx, id) // the atlas keeps no overwrites
	if err != nil || c.GuildID == "" {
		return false, err
	}
	st, ok := s.guilds[c.GuildID]
	if !ok {
		if st, err = s.standing(ctx, c.GuildID); err != nil {
			return false, err
		}
		s.guilds[c.GuildID] = st
	}
	if len(st.Roles) == 0 && st.May == 0 || st.Effective(c.GuildID, s.who, c.PermissionOverwrites)&discordgo.PermissionViewChannel == 0 {
		return false, nil
	}
	heard, _, err := s.p.Heard(ctx, Speaker{User: s.who, Guild: c.GuildID, Channel: id, Parent: c.ParentID})
	return heard, err
}

// standing is what the person may do in a guild before any channel has its say.
func (s *Sight) standing(ctx context.Context, guild string) (atlas.Standing, error) {
	k, err := s.p.Membership(ctx, guild, s.who)
	if err != nil || !k.Is {
		return atlas.Standing{}, err // which sees nothing
	}
	if s.p.atlas.Owner(guild) == s.who {
		return atlas.Standing{May: atlas.Everything}, nil
	}
	roles, err := api.Get[[]api.Role](ctx, s.p.rest, outbox.Answer, "/guilds/{}/roles", guild)
	if err != nil {
		return atlas.Standing{}, fmt.Errorf("list the roles of a server: %w", err)
	}
	return atlas.StandingOf(guild, k.Roles, roles), nil
}

// thread says whether the person sees a thread in a channel that they see. What
// they ask in they see; whether they are in another one that only its members see
// is asked.
func (s *Sight) thread(ctx context.Context, id string) (bool, error) {
	if id == s.from.Thread {
		return true, nil
	}
	c, err := s.p.atlas.Channel(ctx, id)
	if api.Code(err) == discordgo.ErrCodeUnknownChannel {
		return true, nil // a chain of replies in the channel
	}
	if err != nil || c.Type != discordgo.ChannelTypeGuildPrivateThread {
		return err == nil, err
	}
	err = s.p.rest.Call(ctx, api.Request{Method: "GET", Path: "/channels/{}/thread-members/{}", IDs: []string{id, s.who}, Priority: outbox.Answer})
	if api.Code(err) == discordgo.ErrCodeUnknownMember {
		return false, nil
	}
	return err == nil, err
}
