package discord

import (
	"context"
	"fmt"
	"strings"

	"github.com/bwmarrin/discordgo"

	"nod/adapters/discord/api"
	"nod/adapters/discord/atlas"
	"nod/chat"
	"nod/chat/outbox"
)

// This file knows which conversations a person sees, for whoever asks what waits
// for them. In doubt they see none.

// sight is what one person sees. Each guild and each channel is looked up once.
type sight struct {
	a      *Adapter
	who    string
	from   api.Place // where they ask: a direct conversation is seen from within
	guilds map[string]atlas.Standing
	sees   map[string]bool // by channel or private thread
}

// Visit is what somebody sees who writes in a thread.
func (a *Adapter) Visit(ctx context.Context, thread chat.ThreadID, who chat.User) (chat.Visit, error) {
	s := &sight{a: a, who: string(who.ID), from: api.PlaceOf(thread), guilds: map[string]atlas.Standing{}, sees: map[string]bool{}}
	return chat.Visit{
		Who:  who,
		Sees: func(t chat.ThreadID) bool { return s.of(ctx, api.PlaceOf(t)) },
		Member: func(ctx context.Context, t chat.ThreadID, rule string) (bool, error) {
			in, err := a.Members(ctx, t, rule, []chat.UserID{who.ID})
			return len(in) > 0, err
		},
		Link: func(t chat.ThreadID, ref chat.MessageRef) string { return a.Link(ctx, t, ref) },
	}, nil
}

// Link is the address of a message; "" where that can't be told.
func (a *Adapter) Link(ctx context.Context, t chat.ThreadID, ref chat.MessageRef) string {
	p := api.PlaceOf(t)
	switch {
	case ref.ID == "":
		return ""
	case p.Direct():
		return webLink("@me", p.Channel, ref.ID)
	}
	c, err := a.atlas.Channel(ctx, p.Channel)
	if err != nil {
		return ""
	}
	in := p.Channel
	if a.atlas.IsThread(p.Thread) {
		in = p.Thread
	}
	return webLink(c.GuildID, in, ref.ID)
}

// Named is how a person or role is called, by a rule such as user:123. A person is
// looked up while ctx lasts.
func (a *Adapter) Named(ctx context.Context, rule string) string {
	kind, id, _ := strings.Cut(rule, ":")
	switch {
	case kind == "role":
		return a.atlas.RoleName(a.atlas.GuildOfRole(id), id)
	case kind != "user" || ctx.Err() != nil:
		return ""
	}
	u, err := a.user(ctx, id)
	if err != nil {
		return ""
	}
	return u.Name
}

// PlaceName is how a thread's channel is called. A channel is looked up while ctx lasts.
func (a *Adapter) PlaceName(ctx context.Context, t chat.ThreadID) string {
	p := api.PlaceOf(t)
	if p.Direct() {
		return "a direct conversation"
	}
	c, _ := a.atlas.Known(p.Channel)
	if c.Name == "" && ctx.Err() == nil {
		c, _ = a.atlas.AskChannel(ctx, p.Channel)
	}
	if c.Name == "" {
		return ""
	}
	return "#" + c.Name
}

func webLink(guild, channel, id string) string {
	return "https://discord.com/channels/" + guild + "/" + channel + "/" + id
}

func (s *sight) of(ctx context.Context, p api.Place) bool {
	if p.Direct() {
		return p == s.from
	}
	if !s.cached(p.Channel, func() (bool, error) { return s.channel(ctx, p.Channel) }) {
		return false
	}
	return s.cached(p.Thread, func() (bool, error) { return s.thread(ctx, p.Thread) })
}

func (s *sight) cached(id string, look func() (bool, error)) bool {
	known, ok := s.sees[id]
	if !ok {
		var err error
		if known, err = look(); err != nil {
			s.a.log.Warn("find out what somebody sees", "channel", id, "error", err)
			known = false
		}
		s.sees[id] = known
	}
	return known
}

// channel says whether the person sees a channel of a guild, and is heard there.
func (s *sight) channel(ctx context.Context, id string) (bool, error) {
	c, err := s.a.atlas.AskChannel(ctx, id) // the atlas keeps no overwrites
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
	if len(st.Roles) == 0 && st.May == 0 || st.Effective(c.GuildID, s.who, c.Overwrites)&discordgo.PermissionViewChannel == 0 {
		return false, nil
	}
	return s.a.heardFrom(ctx, speaker{user: s.who, guild: c.GuildID, channel: id, parent: c.ParentID}, func() {})
}

// standing is what the person may do in a guild before any channel has its say.
func (s *sight) standing(ctx context.Context, guild string) (atlas.Standing, error) {
	k, err := s.a.membership(ctx, guild, s.who)
	if err != nil || !k.is {
		return atlas.Standing{}, err // which sees nothing
	}
	if s.a.atlas.Owner(guild) == s.who {
		return atlas.Standing{May: atlas.Everything}, nil
	}
	var roles []api.Role
	err = s.a.rest.Call(ctx, api.Request{Method: "GET", Path: "/guilds/{}/roles", IDs: []string{guild}, Priority: outbox.Answer, Answer: &roles})
	if err != nil {
		return atlas.Standing{}, fmt.Errorf("list the roles of a server: %w", err)
	}
	return atlas.StandingOf(guild, k.roles, roles), nil
}

// thread says whether the person sees a thread in a channel that they see. What
// they ask in they see; whether they are in another one that only its members see
// is asked.
func (s *sight) thread(ctx context.Context, id string) (bool, error) {
	if id == s.from.Thread {
		return true, nil
	}
	c, err := s.a.atlas.Channel(ctx, id)
	if api.Code(err) == discordgo.ErrCodeUnknownChannel {
		return true, nil // a chain of replies in the channel
	}
	if err != nil || c.Type != api.PrivateThread {
		return err == nil, err
	}
	err = s.a.rest.Call(ctx, api.Request{Method: "GET", Path: "/channels/{}/thread-members/{}", IDs: []string{id, s.who}, Priority: outbox.Answer})
	if api.Code(err) == discordgo.ErrCodeUnknownMember {
		return false, nil
	}
	return err == nil, err
}
